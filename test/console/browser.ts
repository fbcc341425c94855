// Debian's Chromium, driven by Playwright: nothing is downloaded. Tests say so plainly where there is none.
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

/** Pages of their own. What is awaited in them may come late on a busy machine. */
export async function openContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(180_000)
  return context
}

/** Pixels that a page is wider than its window. */
export const beyond = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

export interface Look {
  readonly colorScheme?: 'light' | 'dark'
  readonly width: number
  readonly height?: number
}

/** Shows a page in another way: a page for each would be a process for each. */
export async function showAs(page: Page, { colorScheme = 'light', width, height = 900 }: Look): Promise<void> {
  await page.setViewportSize({ width, height })
  await page.emulateMedia({ colorScheme })
}

/** Complaints of a page's console, of its scripts, and of its content security policy. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = []
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(error.message))
  page.on('requestfailed', request => {
    // What is under way when a page is left, its open connection for news or its icon, is given up by the browser itself.
    const reason = request.failure()?.errorText
    if (reason !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${reason}`)
  })
  return complaints
}

/** Rules about what another colour scheme, or another width, changes. */
const ofLooks = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size']

/** All that axe finds. `looks`: only as far as it differs between colour schemes and widths of one page. */
export async function barriersOf(page: Page, what: 'all' | 'looks' = 'all'): Promise<string[]> {
  // It takes longer to be read than to look at most pages: once for each that is loaded.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(axe.source)
  // Links and buttons are large enough to be hit: a rule that axe leaves out unless it is asked.
  const rules = { 'target-size': { enabled: true } }
  const options: RunOptions = { resultTypes: ['violations'], ...(what === 'looks' ? { runOnly: ofLooks } : { rules }) }
  const look = `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`
  const violations = await page.evaluate<AxeResults['violations']>(look)
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
}

/** Where an element is on the page, px. It has no place for a moment when a live page is brought up to date. */
export async function boxOf(element: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  return (await element.boundingBox()) ?? boxOf(element)
}

/** Light and wide, dark and narrow. */
export const defaultLooks: readonly Look[] = [
  { colorScheme: 'light', width: 1_440 },
  { colorScheme: 'dark', width: 400 },
]

/** Nothing of the page as it is shown now keeps anybody from reading it. */
export async function expectReadable(page: Page, { colorScheme }: Look): Promise<void> {
  expect(await barriersOf(page, colorScheme === 'light' ? 'all' : 'looks')).toEqual([])
  await expect.poll(async () => page.evaluate(beyond)).toBe(0)
}

/** Nor in any other look. `content`: what is awaited on it. */
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
