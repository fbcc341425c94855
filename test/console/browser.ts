// Starts Debian's Chromium, controlled by Playwright, so that nothing is downloaded. If Chromium is not installed, the tests report this.
import { existsSync } from 'node:fs'
import axe, { type AxeResults, type RunOptions } from 'axe-core'
import { expect } from 'vitest'
import { isFull } from '../full.ts'
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Locator,
  type Page,
} from 'playwright-core'

const places = ['chromium', 'chromium-headless-shell', 'chromium-browser', 'google-chrome'].map(
  name => `/usr/bin/${name}`,
)

export const chromiumPath = process.env.CHROMIUM_PATH ?? places.find(place => existsSync(place))

if (chromiumPath === undefined) {
  process.stderr.write(
    'No Chromium here: the tests of the pages in a browser are skipped (apt-get install chromium).\n',
  )
}

export async function launch(): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking']
  return chromium.launch({ executablePath: chromiumPath!, headless: true, args, timeout: 180_000 })
}

/** Opens a separate browser context. Its timeouts are long, because a busy machine may be slow. */
export async function openContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(180_000)
  return context
}

/** How many pixels a page is wider than its window. */
export const beyond = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

export interface Look {
  readonly colorScheme?: 'light' | 'dark'
  readonly width: number
  readonly height?: number
}

/** Changes the colour scheme and size of an open page. A new page for each look would need another process. */
export async function showAs(page: Page, { colorScheme = 'light', width, height = 900 }: Look): Promise<void> {
  await page.setViewportSize({ width, height })
  await page.emulateMedia({ colorScheme })
}

/** Collects the errors and warnings from a page's console, scripts and content security policy. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = []
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(error.message))
  page.on('requestfailed', request => {
    // When the user leaves a page, the browser itself aborts pending requests, such as the live update connection or the icon.
    const reason = request.failure()?.errorText
    if (reason !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${reason}`)
  })
  return complaints
}

/** The accessibility rules whose result depends on the colour scheme or the width. */
const ofLooks = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size']

/** The accessibility violations found by axe. `looks`: only rules whose result depends on the colour scheme or the width. */
export async function barriersOf(page: Page, what: 'all' | 'looks' = 'all'): Promise<string[]> {
  // Loading axe takes longer than checking most pages, so it is loaded only once per page load.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(axe.source)
  // The axe rule that requires links and buttons to be large enough to be clicked. By default axe does not check it.
  const rules = { 'target-size': { enabled: true } }
  const options: RunOptions = { resultTypes: ['violations'], ...(what === 'looks' ? { runOnly: ofLooks } : { rules }) }
  const look = `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`
  const violations = await page.evaluate<AxeResults['violations']>(look)
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
}

/**
 * The position and size of an element on the page, px. It is requested again while a live page is being updated, because the element has no position
 * then.
 */
export async function boxOf(element: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  return (await element.boundingBox()) ?? boxOf(element)
}

/** The looks that are tested by default: light and wide, dark and narrow. */
export const defaultLooks: readonly Look[] = [
  { colorScheme: 'light', width: 1_440 },
  { colorScheme: 'dark', width: 400 },
]

/** Expects that the page, as currently shown, has no accessibility violations and is not wider than its window. */
export async function expectReadable(page: Page, { colorScheme }: Look): Promise<void> {
  expect(await barriersOf(page, colorScheme === 'light' ? 'all' : 'looks')).toEqual([])
  await expect.poll(async () => page.evaluate(beyond)).toBe(0)
}

/** Expects a page to be accessible in each of these looks. `content`: the element to wait for on the page. */
export async function expectReadableAt(
  page: Page,
  address: string,
  content: Locator,
  looks: readonly Look[] = defaultLooks,
): Promise<void> {
  const complaints = complaintsOf(page)
  for (const look of looks) {
    await showAs(page, look)
    if (look.colorScheme === 'light' || isFull) await page.goto(address)
    await content.first().waitFor()
    await expectReadable(page, look)
  }
  expect(complaints).toEqual([])
}
