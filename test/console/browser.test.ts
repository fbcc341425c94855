import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  barriersOf,
  beyond,
  boxOf,
  chromiumPath,
  complaintsOf,
  launch,
  openContext,
  showAs,
  type Look,
} from './browser.ts'
import { generatePipeline } from '../support/generate.ts'
import { isFull } from '../full.ts'
import { openHouse, until, type House } from './house.ts'
import { sampleSections, withSections, withTests } from './read-insides.ts'
import { allPages } from '../support/console-parts.ts'
import type { Browser, Page } from 'playwright-core'

const day = 24 * 3_600_000
/** Removes the shadows at the edges of tables. They are background images, on which contrast cannot be measured. */
const withoutShadows = `for (const table of document.querySelectorAll('.scroll')) table.style.background = 'none'`
const ground = 'getComputedStyle(document.body).backgroundColor'

const wide = { colorScheme: 'light', width: 1_280 } as const
const narrow = { colorScheme: 'dark', width: 400 } as const

/** A rule that sets an attribute by which pages can be filtered. */
const rules = "attributes: { rules: [{ projects: { include: ['brightwater/shop/*'] }, set: { team: payments } }] }\n"
let browser: Browser
beforeAll(async () => {
  if (chromiumPath !== undefined) browser = await launch()
})
afterAll(async () => {
  if (chromiumPath !== undefined) await browser.close()
})

describe.skipIf(chromiumPath === undefined)('the console in a browser', () => {
  let house: House
  /** All tests share one page, because each new page would need another process. */
  let page: Page
  let complaints: string[]
  let pipeline: string
  let letter: string
  /** The path of a failed job that has sections. */
  let job: string

  beforeAll(async () => {
    house = await openHouse({ PIPESPAN_PAGES_GROUP_BY: 'team' }, rules)
    page = await (await openContext(browser)).newPage()
    complaints = complaintsOf(page)
    const start = Date.now() - day
    await house.live(['family', 'nightly', 'retried', 'release', 'mergeRequest', 'canceled', 'blocked'], {
      start,
      pause: 1_800,
    })
    // One pipeline is running, and the backend permanently rejects another one.
    const { deliveries } = generatePipeline(5, 'release', { firstIds: { pipeline: 90_000_001, job: 900_000_001 } })
    await house.deliver(deliveries.slice(0, 12))
    house.receiver.misbehave({ fault: { kind: 'status', status: 400, message: 'span name is too long' }, times: 8 })
    await house.deliver(
      generatePipeline(9, 'small', { firstIds: { pipeline: 91_000_001, job: 910_000_001 } }).deliveries,
    )
    await until(async () => (await house.daemon.store.outbox.deadLetters(5)).length > 0)
    house.receiver.behave()
    letter = `/exports/${(await house.daemon.store.outbox.deadLetters(1))[0]?.id}`
    const families = (await (await fetch(`${house.url}/api/pipelines?limit=50`)).json()) as {
      pipelines: { projectId: number; pipelineId: number; name?: string }[]
    }
    const monorepo = families.pipelines.find(({ name }) => name === 'Monorepo')
    pipeline = `/pipelines/${monorepo?.projectId}/${monorepo?.pipelineId}`
    job = await withSections(house.daemon.store, sampleSections)
    expect(await withTests(house.daemon.store)).toBe(job)
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
    ['a pipeline with its family', () => pipeline, 'Pipeline and its children'],
    ['a pipeline with sections of a job', () => job.replace(/\/jobs\/.*/, ''), 'Origin'],
    ['two runs side by side', () => `${pipeline}/compare?with=${pipeline.split('/').at(-1)}`, 'Both on one time axis'],
    ['a run against its usual durations', () => `${pipeline}/compare?with=usual`, 'Job by job'],
    ['a job with its sections', () => job, 'Where the time went'],
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
    ['a dead letter', () => letter, 'Response of the backend'],
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

  it('draws a complete family of pipelines, with the critical path and a link to each pipeline', async () => {
    await open(pipeline)
    const waterfall = page.locator('.waterfall')
    expect(await waterfall.locator('.row.pipeline').count()).toBe(4)
    expect(await waterfall.locator('.row.critical .bar').count()).toBeGreaterThan(3)
    await waterfall.locator('.row.pipeline:not(.asked) a').first().click()
    await page.waitForURL(({ href }) => /\/pipelines\/\d+\/\d+$/.test(href) && href !== house.url + pipeline)
    expect(await page.locator('.waterfall .row.pipeline').count()).toBe(4)
  })

  it('sorts sources, exports and dead letters by column using the keyboard', async () => {
    await open('/sources')
    const projects = async (): Promise<string[]> => page.locator('#projects tbody td:first-child').allInnerTexts()
    const names = (await projects()).toSorted()
    expect(names.length).toBeGreaterThan(1)
    for (const [sort, direction, order] of [
      ['project', 'ascending', names],
      ['-project', 'descending', names.toReversed()],
    ] as const) {
      await page.locator('#projects th a').first().focus()
      await page.keyboard.press('Enter')
      await page.waitForURL(new RegExp(`sort=${sort}#by-projects`))
      expect(await projects()).toEqual(order)
      expect(await page.locator('#projects th').first().getAttribute('aria-sort')).toBe(direction)
    }
    await page.goto(`${house.url}/exports?done=drop&count=1&sort=-destination`)
    expect(await page.locator('th[aria-sort="descending"]').count()).toBe(2)
    expect(await page.locator('.sort').count()).toBeGreaterThan(10)
    expect(await page.locator('.sort[href*="done="]').count()).toBe(0)
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
    await open(pipeline, narrow)
    await page.locator('.span-attributes summary').first().click()
    await page.locator('.span-attributes .scroll').first().waitFor()
    const table = `document.querySelector('.span-attributes .scroll')`
    expect(await page.evaluate(`${table}.scrollWidth - ${table}.clientWidth`)).toBe(0)
  })

  it('shows the exported span of a job', async () => {
    await open(pipeline)
    await page.locator('#jobs td a').first().click()
    const span = page.locator('#attributes details').first()
    const row = span.locator('tr', { hasText: 'cicd.pipeline.task.run.id' })
    expect(await row.isVisible()).toBe(false)
    await span.locator('summary').focus()
    await page.keyboard.press('Enter')
    await row.waitFor()
    for (const [convention, legacy] of [
      ['cicd.pipeline.task.type', 'job.stage'],
      ['platform.cicd.pipeline.task.run.queued_duration', 'job.queued_duration'],
    ] as const) {
      const its = span.locator('tr', { hasText: legacy })
      expect((await its.locator('td').allInnerTexts()).slice(0, 2)).toEqual([convention, legacy])
    }
    expect(await barriersOf(page)).toEqual([])
  })

  it('shows the nested sections of a job, and marks the failed one', async () => {
    await open(job)
    const labels = await page.locator('.waterfall .row.section .label').allTextContents()
    expect(
      labels.map(text =>
        text
          .trim()
          .replace(/\s+/g, ' ')
          .replace(/ [\d.]+ m?s ?, .*/, ''),
      ),
    ).toEqual(['prepare_executor', 'step_script failed here', 'Install <b>all</b>', 'unit failed here'])
    const left = async (label: string): Promise<number> =>
      (await boxOf(page.locator('.row.section', { hasText: label }).locator('.name'))).x
    expect(await left('unit')).toBeGreaterThan(await left('step_script'))
    await page.getByText('At least 3 more sections are left out').waitFor()
    await page.locator('#failure', { hasText: 'in the section unit' }).waitFor()
    expect(await page.locator('#history tbody tr').count()).toBeGreaterThan(0)
  })

  it('opens the sections of a job in the waterfall without JavaScript', async () => {
    const context = await openContext(browser, { javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(house.url + job.replace(/\/jobs\/.*/, ''))
    const inside = page.locator('#waterfall details.inside')
    expect(await inside.count()).toBe(1)
    expect(await inside.locator('.row.section').first().isVisible()).toBe(false)
    await inside.locator('summary').focus()
    await page.keyboard.press('Enter')
    await inside.locator('.row.section', { hasText: 'unit' }).waitFor()
    expect(await inside.locator('.row.section').count()).toBe(4)
    await page.locator('#waterfall .opens > .row a').click()
    await page.waitForURL(`${house.url}${job}`)
    await context.close()
  })

  it('filters the list of pipelines, and keeps the filters in the URL', async () => {
    await open('/pipelines')
    await page.getByLabel('Status').selectOption('canceled')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.waitForURL(/status=canceled/)
    expect(await page.locator('.run').count()).toBe(1)
    await page.getByRole('link', { name: 'Clear' }).click()
    await page.getByLabel('Search').fill('nothing is called like this')
    await page.keyboard.press('Enter')
    await page.getByText('No pipeline matches these filters.').waitFor()
  })

  it('names filters that are ignored, and shows the total number of pipelines', async () => {
    await open('/pipelines?since=yesterday&status=done&project=acme')
    const hints = await page.locator('.notice.hint').allInnerTexts()
    expect(hints.map(text => text.split(' ', 1)[0])).toEqual(['“yesterday”', '“done”', 'No'])
    await page.goto(`${house.url}/pipelines?status=canceled`)
    expect(await page.locator('.notice.hint').count()).toBe(0)
    await page.getByText('1 of 1 pipeline', { exact: true }).waitFor()
    const { runs } = await house.daemon.store.views.search({ status: 'canceled', limit: 1 })
    const sha = runs[0]?.run.pipeline?.record.facts.sha ?? ''
    expect(sha).toHaveLength(40)
    for (const text of [sha, `#${runs[0]?.run.key.pipelineId}`]) {
      await page.goto(`${house.url}/pipelines?${new URLSearchParams({ text, status: 'canceled' }).toString()}`)
      expect(await page.locator('.run').count()).toBe(1)
    }
  })

  it('opens trends at the period that has data, sorts them by a column, and keeps the order when they are filtered', async () => {
    await open('/trends')
    await page.locator('.choice a[aria-current]', { hasText: '30 days' }).waitFor()
    await page.getByRole('link', { name: 'Total', exact: true }).first().click()
    await page.waitForURL(/jobs=total/)
    expect(await page.locator('th[aria-sort="descending"]').allInnerTexts()).toEqual(['Total ▼', 'Pipelines ▼'])
    await page.getByLabel('Branches').selectOption('merge_request')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.waitForURL(/branch=merge_request/)
    expect(page.url()).toContain('jobs=total')
    expect(await page.locator('.tile').first().innerText()).toContain('Pipelines')
  })

  it('retries a dead letter after a confirmation', async () => {
    await open('/exports')
    const before = house.receiver.counts.requests
    const [letter] = await house.daemon.store.outbox.deadLetters(1)
    await page.getByRole('link', { name: `Send again dead letter ${letter?.id}` }).click()
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('1 dead letter pending again.').waitFor()
    await until(async () => house.receiver.counts.requests > before)
    await page.locator('#dead', { hasText: 'No backend has permanently refused' }).waitFor()
  })

  it('lets people operate every page by keyboard alone', async () => {
    await open('/')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect.poll(async () => page.evaluate('document.activeElement.id')).toBe('main')
    await page.keyboard.press('Tab')
    await expect
      .poll(async () =>
        page.evaluate('document.activeElement.id !== "main" && document.activeElement.closest("main") !== null'),
      )
      .toBe(true)
  })
})

describe.skipIf(chromiumPath === undefined)('the console with an admin token in a browser', () => {
  it('logs a user in and out', async () => {
    const token = 'an-admin-token-of-this-test'
    const house = await openHouse({ PIPESPAN_ADMIN_TOKEN: token, PIPESPAN_BASE_PATH: '/spans' })
    const context = await openContext(browser)
    try {
      const page = await context.newPage()
      const complaints = complaintsOf(page)
      await page.goto(`${house.url}/sources`)
      await page.getByLabel('Admin token').fill('not-the-admin-token')
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByRole('alert').waitFor()
      // The browser itself logs the rejected request in its console.
      expect(complaints.splice(0).filter(text => !text.includes('401'))).toEqual([])
      expect(await barriersOf(page)).toEqual([])
      await page.getByLabel('Admin token').fill(token)
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.waitForURL(`${house.url}/sources`)
      await page.locator('#live[data-state="live"]').waitFor()
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.waitForURL(`${house.url}/login`)
      await page.goto(`${house.url}/`)
      expect(page.url()).toContain('/login')
      expect(complaints).toEqual([])
    } finally {
      await context.close()
      await house.close()
    }
  })
})

function brightness(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/\d+/g) ?? []).map(Number)
  return (red + green + blue) / 3
}
