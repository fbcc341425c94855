// Tests what scripts change on an open page: times are shown in the browser's time zone, and live updates do not disturb the user.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { boxOf, chromiumPath, complaintsOf, launch, openContext } from './browser.ts'
import { generatePipeline, type GeneratedFamily } from '../support/generate.ts'
import { openHouse, type House } from './house.ts'
import type { Browser, Page } from 'playwright-core'

let browser: Browser
let house: House
let listed: GeneratedFamily
beforeAll(async () => {
  if (chromiumPath === undefined) return
  browser = await launch()
  house = await openHouse()
  listed = running(91_500_001)
  await house.deliver(listed.deliveries)
  await house.live(['nightly', 'small'], { start: Date.now() - 3_600_000, pause: 60 })
})
afterAll(async () => {
  if (chromiumPath === undefined) return
  await browser.close()
  await house.close()
})

async function inZone(timezoneId: string, address: string): Promise<Page> {
  const page = await (await openContext(browser, { timezoneId })).newPage()
  await page.goto(house.url + address)
  return page
}

function running(id: number): GeneratedFamily {
  return generatePipeline(id, 'release', { start: Date.now() - 600_000, firstIds: { pipeline: id, job: id * 10 } })
}

function pageOf({ pipelines: [first] }: GeneratedFamily): string {
  return `/pipelines/${first?.projectId}/${first?.id}`
}

describe.skipIf(chromiumPath === undefined)('an open page', () => {
  it("shows times in the browser's time zone, with UTC in the tooltip", async () => {
    const page = await inZone('Asia/Kolkata', pageOf(listed))
    const times = await page
      .locator('time[data-form="near"]')
      .evaluateAll(all =>
        (all as unknown as { textContent: string; dateTime: string; title: string }[]).map(
          one => [one.textContent, one.dateTime, one.title] as const,
        ),
      )
    expect(times.length).toBeGreaterThan(0)
    for (const [text, instant, title] of times) {
      const local = new Date(Date.parse(instant) + 5.5 * 3_600_000).toISOString()
      expect([local.slice(11, 19), `${local.slice(0, 10)} ${local.slice(11, 16)}`]).toContain(text)
      expect(title).toBe(`${instant.slice(0, 19).replace('T', ' ')} UTC`)
    }
    expect(await page.locator('#zone').innerText()).toBe('Asia/Calcutta')
    await page.context().close()
  })

  it('shows UTC if the user selects it, including on the next page', async () => {
    const page = await inZone('Asia/Kolkata', '/')
    await page.getByRole('button', { name: 'Show UTC' }).click()
    await page.goto(house.url + pageOf(listed))
    const [text = '', instant = ''] = await page.evaluate<string[]>(
      `(time => [time.textContent, time.dateTime])(document.querySelector('time[data-form="near"]'))`,
    )
    expect([instant.slice(11, 19), instant.slice(0, 16).replace('T', ' ')]).toContain(text)
    expect(await page.locator('#zone').innerText()).toBe('UTC')
    await page.getByRole('button', { name: 'Show Asia/Calcutta' }).click()
    expect(await page.locator('#zone').innerText()).toBe('Asia/Calcutta')
    await page.context().close()
  })

  it("keeps elements focused, selected and open when a page's content changes", async () => {
    const family = running(92_000_001)
    const { deliveries } = family
    await house.deliver(deliveries.slice(0, 12))
    const page = await inZone('America/New_York', pageOf(family))
    const complaints = complaintsOf(page)
    const badge = page.locator('.head-badge .badge')
    expect(await badge.innerText()).toBe('running')
    const link = page.locator('#jobs td a').first()
    await link.focus()
    await page.evaluate(`{
      window.kept = document.activeElement
      getSelection().selectAllChildren(window.kept)
      const details = document.querySelector('#main [data-region] details')
      details.open = true
      window.details = details
    }`)
    // The pipeline's row moves down, and then up again.
    for (const [from, to, job] of [
      [12, 14, 'integration tests'],
      [14, 15, 'image'],
    ] as const) {
      await house.deliver(deliveries.slice(from, to))
      await page.locator('#jobs tbody tr:first-child a', { hasText: job }).waitFor()
    }
    await house.deliver(deliveries.slice(15))
    await badge.filter({ hasText: /success|failed/ }).waitFor()
    const kept = `({
      focus: document.activeElement === window.kept && window.kept.isConnected,
      selection: getSelection().toString().trim() === window.kept.textContent.trim(),
      details: window.details.isConnected && window.details.open,
    })`
    expect(await page.evaluate(kept)).toEqual({ focus: true, selection: true, details: true })
    // Times in updated content are also shown in the browser's time zone.
    const shown = await page
      .locator('#main time[data-form="near"]')
      .evaluateAll(all =>
        (all as unknown as { textContent: string; dateTime: string }[]).map(
          one => [one.textContent, one.dateTime] as const,
        ),
      )
    expect(shown.some(([text, instant]) => text === instant.slice(11, 19))).toBe(false)
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('shows the end of a job, and then requests no further updates', async () => {
    const family = running(96_000_001)
    await house.deliver(family.deliveries.slice(0, 12))
    const page = await inZone('UTC', pageOf(family))
    await page.locator('#jobs tbody tr', { hasText: 'running' }).locator('a').first().click()
    await page.locator('#live', { hasText: 'Up to date' }).waitFor()
    let asked = 0
    page.on('request', one => (asked += one.headers()['if-none-match'] === undefined ? 0 : 1))
    await house.deliver(family.deliveries.slice(12))
    await page.locator('#live').waitFor({ state: 'detached' })
    await page.locator('#head', { hasText: /success|failed/ }).waitFor()
    asked = 0
    await page.waitForTimeout(2_500)
    expect(asked).toBe(0)
    await page.context().close()
  })

  it('requests updates again after the delay that a busy daemon specifies, and shows a message about it', async () => {
    const page = await inZone('UTC', '/')
    const at: number[] = []
    await page.route(house.url + '/', async route => {
      at.push(performance.now())
      return at.length > 1 ? route.continue() : route.fulfill({ status: 429, headers: { 'retry-after': '3' } })
    })
    await page.locator('#live', { hasText: 'Busy, trying again' }).waitFor()
    await page.locator('#live', { hasText: 'Up to date' }).waitFor()
    expect(at[1]! - at[0]!).toBeGreaterThan(2_900)
    await page.context().close()
  })

  it('keeps the focus on a pipeline when a newer one is inserted above it', async () => {
    const page = await inZone('UTC', '/')
    const link = page.locator('.run a').first()
    const name = await link.getAttribute('href')
    await link.focus()
    await house.deliver(running(93_000_001).deliveries)
    await page.locator('.run a[href$="/93000001"]').first().waitFor()
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe(name)
    await page.context().close()
  })

  it("keeps the page's scroll position when rows are inserted above, and the scroll position of a table", async () => {
    const page = await inZone('UTC', '/pipelines')
    await page.setViewportSize({ width: 400, height: 400 })
    const seen = page.locator('.run a').last()
    await seen.scrollIntoViewIfNeeded()
    const { y } = await boxOf(seen)
    const scrolled = await page.evaluate<number>('scrollY')
    expect(scrolled).toBeGreaterThan(0)
    await house.deliver(running(94_000_001).deliveries)
    await page.locator('.run a[href$="/94000001"]').first().waitFor()
    expect(await page.evaluate<number>('scrollY')).toBeGreaterThan(scrolled)
    expect(Math.abs((await boxOf(seen)).y - y)).toBeLessThan(2)

    const family = running(95_000_001)
    await house.deliver(family.deliveries.slice(0, 12))
    await page.goto(house.url + pageOf(family))
    const table = `document.querySelector('#jobs .scroll')`
    await page.evaluate(`${table}.scrollLeft = 40`)
    expect(await page.evaluate(`${table}.scrollLeft`)).toBe(40)
    await house.deliver(family.deliveries.slice(12))
    await page
      .locator('.head-badge .badge')
      .filter({ hasText: /success|failed/ })
      .waitFor()
    expect(await page.evaluate(`${table}.scrollLeft`)).toBe(40)
    await page.context().close()
  })

  it('lets users navigate the page groups by keyboard, even on narrow screens', async () => {
    for (const width of [1_280, 400]) {
      const page = await inZone('UTC', '/')
      await page.setViewportSize({ width, height: 900 })
      const names = await page
        .locator('.top nav ul')
        .evaluateAll(all =>
          (all as unknown as { getAttribute(name: string): string }[]).map(one => one.getAttribute('aria-labelledby')),
        )
      expect(names).toEqual(['nav-0', 'nav-1', 'nav-2', 'nav-3'])
      for (const name of ['What is broken', 'Why is it slow', 'What changed', 'Pipespan'])
        await page.getByRole('list', { name }).waitFor()
      expect(await page.locator('.top nav a[aria-current="page"]').innerText()).toBe('Overview')
      await page.locator('.top .brand').focus()
      const reached: string[] = []
      const links = await page.locator('.top nav a').allInnerTexts()
      while (reached.length < links.length) {
        await page.keyboard.press('Tab')
        reached.push(await page.evaluate<string>('document.activeElement.innerText'))
        const { x, width: wide } = await boxOf(page.locator(':focus'))
        expect(x).toBeGreaterThanOrEqual(0)
        expect(x + wide).toBeLessThanOrEqual(width)
      }
      expect(reached).toEqual(links)
      expect(links.length).toBeGreaterThan(10)
      // Each navigation group begins below the previous one or next to it.
      const groups = await Promise.all([0, 1, 2, 3].map(async at => boxOf(page.locator('.nav-group').nth(at))))
      for (const [at, box] of groups.slice(1).entries()) {
        const before = groups[at]!
        expect(box.y >= before.y + before.height - 1 || box.x >= before.x + before.width - 1).toBe(true)
      }
      await page.keyboard.press('Shift+Tab')
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/exports$/)
      await page.context().close()
    }
  })
})
