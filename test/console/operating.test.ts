// Tests how people operate the pages in a browser: links, sorting, filters, actions, keyboard, and login.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { barriersOf, boxOf, chromiumPath, complaintsOf, launch, openContext } from './browser.ts'
import { openBrowsedHouse, type BrowsedHouse } from './browsed-house.ts'
import { openHouse, until } from './house.ts'
import type { Browser, Page } from 'playwright-core'

let browser: Browser
beforeAll(async () => {
  if (chromiumPath !== undefined) browser = await launch()
})
afterAll(async () => {
  if (chromiumPath !== undefined) await browser.close()
})

describe.skipIf(chromiumPath === undefined)('the operation of the console in a browser', () => {
  let house: BrowsedHouse
  /** All tests share one page, because each new page would need another process. */
  let page: Page

  beforeAll(async () => {
    house = await openBrowsedHouse()
    page = await (await openContext(browser)).newPage()
  })
  afterAll(async () => {
    await page.context().close()
    await house.close()
  })

  async function open(address: string): Promise<void> {
    await page.goto(house.url + address)
  }

  it('draws a complete family of pipelines, with the critical path and a link to each pipeline', async () => {
    await open(house.pipeline)
    const waterfall = page.locator('.waterfall')
    expect(await waterfall.locator('.row.pipeline').count()).toBe(4)
    expect(await waterfall.locator('.row.critical .bar').count()).toBeGreaterThan(3)
    await waterfall.locator('.row.pipeline:not(.asked) a').first().click()
    await page.waitForURL(({ href }) => /\/pipelines\/\d+\/\d+$/.test(href) && href !== house.url + house.pipeline)
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

  it('shows the exported span of a job', async () => {
    await open(house.pipeline)
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
    await open(house.job)
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
    await page.goto(house.url + house.job.replace(/\/jobs\/.*/, ''))
    const inside = page.locator('#waterfall details.inside')
    expect(await inside.count()).toBe(1)
    expect(await inside.locator('.row.section').first().isVisible()).toBe(false)
    await inside.locator('summary').focus()
    await page.keyboard.press('Enter')
    await inside.locator('.row.section', { hasText: 'unit' }).waitFor()
    expect(await inside.locator('.row.section').count()).toBe(4)
    await page.locator('#waterfall .opens > .row a').click()
    await page.waitForURL(`${house.url}${house.job}`)
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
