// Tests the appearance of every page in a browser: accessibility, errors, and layout, light and dark, wide and narrow.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { barriersOf, beyond, chromiumPath, complaintsOf, launch, openContext, showAs, type Look } from './browser.ts'
import { allPages } from '../support/console-parts.ts'
import { isFull } from '../full.ts'
import { openBrowsedHouse, type BrowsedHouse } from './browsed-house.ts'
import type { Browser, Page } from 'playwright-core'

/** Removes the shadows at the edges of tables. They are background images, on which contrast cannot be measured. */
const withoutShadows = `for (const table of document.querySelectorAll('.scroll')) table.style.background = 'none'`
const ground = 'getComputedStyle(document.body).backgroundColor'

const wide = { colorScheme: 'light', width: 1_280 } as const
const narrow = { colorScheme: 'dark', width: 400 } as const

let browser: Browser
beforeAll(async () => {
  if (chromiumPath !== undefined) browser = await launch()
})
afterAll(async () => {
  if (chromiumPath !== undefined) await browser.close()
})

describe.skipIf(chromiumPath === undefined)('the console in a browser', () => {
  let house: BrowsedHouse
  /** All tests share one page, because each new page would need another process. */
  let page: Page
  let complaints: string[]

  beforeAll(async () => {
    house = await openBrowsedHouse()
    page = await (await openContext(browser)).newPage()
    complaints = complaintsOf(page)
  })
  afterAll(async () => {
    await page.context().close()
    await house.close()
  })

  async function open(address: string, look: Look = wide): Promise<void> {
    await showAs(page, look)
    await page.goto(house.url + address)
  }

  const addresses: readonly (readonly [name: string, address: () => string, shows: string])[] = [
    ['the overview', () => '/', 'Last finished'],
    ['pipelines', () => '/pipelines', 'Newest first'],
    ['a pipeline with its family', () => house.pipeline, 'Pipeline and its children'],
    ['a pipeline with sections of a job', () => house.job.replace(/\/jobs\/.*/, ''), 'Origin'],
    [
      'two runs side by side',
      () => `${house.pipeline}/compare?with=${house.pipeline.split('/').at(-1)}`,
      'Both on one time axis',
    ],
    ['a run against its usual durations', () => `${house.pipeline}/compare?with=usual`, 'Job by job'],
    ['a job with its sections', () => house.job, 'Where the time went'],
    ['trends', () => '/trends?span=7d', 'Most time in total'],
    ['trends of one branch', () => '/trends?ref=main', 'stored pipeline'],
    ['costs', () => '/cost', 'Wasted work'],
    ['environments of a team', () => '/environments?own=payments', 'Latest deployments'],
    ['flaky tests', () => '/tests', 'Most time lost first'],
    ['failing and slow tests', () => '/tests/costly', 'Most failing'],
    ['runners', () => '/runners', 'Running jobs over the last day'],
    ['environments', () => '/environments', 'Latest deployments'],
    ['changes', () => '/changes', 'How is this counted?'],
    ['components', () => '/components', 'How is this counted?'],
    ['sources', () => '/sources', 'Webhooks'],
    ['exports', () => '/exports', 'span name is too long'],
    ['a dead letter', () => house.letter, 'Response of the backend'],
    ['a question before an action', () => '/exports/confirm?do=drop&which=all', 'Drop all dead letters?'],
    ['tokens', () => '/tokens', 'In use'],
  ]

  it.each(addresses.map(([name, address, shows]) => ({ name, address, shows })))(
    'shows $name accessibly and without errors, light and dark, wide and narrow',
    async ({ address, shows }) => {
      complaints.length = 0
      for (const look of [wide, narrow]) {
        // A page that is switched to dark and narrow looks the same as one that was loaded that way. Only the long form loads each page twice.
        if (look === wide || isFull) await open(address(), look)
        else await showAs(page, look)
        await page.getByText(shows).first().waitFor()
        await page.evaluate(withoutShadows)
        await expect.poll(async () => page.evaluate(beyond)).toBe(0)
        await expect.poll(async () => brightness(await page.evaluate<string>(ground)) > 128).toBe(look === wide)
        expect(await barriersOf(page, look === wide ? 'all' : 'looks')).toEqual([])
        expect(complaints).toEqual([])
      }
    },
  )

  it('tests the appearance of every page of the console, here or in another test', () => {
    // Pages that need a platform or several weeks of figures are tested in other files.
    const elsewhere: Readonly<Record<string, string>> = {
      '/pipelines/:projectId/:pipelineId/jobs/:jobId/log': '../features/job-insides/job-log',
      '/trends/regressions': '../features/regressions/pages',
      '/environments/behind/:projectId': '../features/deployments/behind',
      '/timeline': 'timeline',
      '/audit': '../features/audit/page',
    }
    const opened = addresses.map(([, address]) => address().split('?', 1)[0] ?? '')
    const left = allPages.filter(
      ({ path: route }) =>
        elsewhere[route] === undefined &&
        !opened.some(one => new RegExp(`^${route.replaceAll(/:\w+/g, '\\d+')}$`).test(one)),
    )
    expect(left.map(({ path: route }) => route)).toEqual([])
    for (const test of Object.values(elsewhere))
      expect(readFileSync(new URL(`${test}.test.ts`, import.meta.url), 'utf8'), test).toMatch(
        /await expectReadable(At)?\(/,
      )
  })

  it('keeps durations in their column on wide and narrow pages, and stacks attributes on narrow pages', async () => {
    for (const look of [wide, narrow]) {
      await open('/', look)
      const outside = await page.evaluate<string[]>(`[...document.querySelectorAll('.run')].flatMap(run => {
        const [status, time] = ['.run-status', '.run-time'].map(name => run.querySelector(name))
        const of = element => { const range = document.createRange(); range.selectNodeContents(element); return range.getBoundingClientRect() }
        const isOver = of(status).right > of(time).left && of(status).bottom > of(time).top
        return isOver || of(time).right > run.getBoundingClientRect().right + 1 ? [run.innerText] : []
      })`)
      expect(outside).toEqual([])
    }
    await open(house.pipeline, narrow)
    await page.locator('.span-attributes summary').first().click()
    await page.locator('.span-attributes .scroll').first().waitFor()
    const table = `document.querySelector('.span-attributes .scroll')`
    expect(await page.evaluate(`${table}.scrollWidth - ${table}.clientWidth`)).toBe(0)
  })
})

function brightness(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/\d+/g) ?? []).map(Number)
  return (red + green + blue) / 3
}
