// Pipelines and names of unusual size: nothing is left out without a word, and every link leads where it says.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, launch, openContext } from './browser.ts'
import { openHouse, until, type House } from './house.ts'
import type { Browser, Page } from 'playwright-core'

const jobs = 2_000
const longName = 'aNameWithoutAnyBlank'.repeat(12)
const begun = Date.now() - 5 * 3_600_000
const time = (seconds: number): string =>
  new Date(begun + seconds * 1_000)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC')

function pipeline(id: number, names: readonly string[], length: number, more: object = {}): string {
  return JSON.stringify({
    object_kind: 'pipeline',
    object_attributes: { id, iid: id, ref: 'main', status: 'success', created_at: time(0), finished_at: time(length) },
    project: { id: 3, name: 'shop', path_with_namespace: 'acme/shop', web_url: 'https://git.example.com/acme/shop' },
    builds: names.map((name, index) => ({
      id: id * 10_000 + index,
      stage: `stage ${Math.floor(index / 250)}`,
      name,
      status: index === 1_500 ? 'failed' : 'success',
      allow_failure: true,
      created_at: time(0),
      started_at: time(1),
      finished_at: time(length - (index % 7)),
    })),
    ...more,
  })
}

let house: House
beforeAll(async () => {
  house = await openHouse()
  const send = async (body: string): Promise<void> => {
    const headers = {
      'content-type': 'application/json',
      'x-service-event': 'Pipeline Hook',
      'x-service-token': 'a-webhook-token',
    }
    const answer = await fetch(`${house.daemon.url}/webhooks`, { method: 'POST', body, headers })
    expect(answer.status).toBe(202)
  }
  const parent = { source_pipeline: { project: { id: 3 }, job_id: 50_020_000, pipeline_id: 5_002 } }
  await send(
    pipeline(
      5_001,
      Array.from({ length: jobs }, (_, index) => `job ${index}`),
      600,
    ),
  )
  await send(pipeline(5_002, ['trigger', longName, '长名字'.repeat(40)], 5_400))
  await send(pipeline(5_003, ['of the child'], 60, parent))
  await until(async () => (await house.daemon.store.views.search({ limit: 5 })).runs.length === 3)
  await until(async () => (await house.daemon.store.runs.count()).open === 0)
  while ((await house.daemon.store.views.trends.takeIn(100)) > 0);
})
afterAll(async () => house.close())

const text = async (path: string): Promise<string> => (await fetch(house.url + path)).text()
const namesIn = (page: string): Set<string> =>
  new Set([...page.matchAll(/>(job \d+)<\/a>/g)].map(([, name]) => name ?? ''))

describe('a pipeline of 2,000 jobs', () => {
  it('has all of them in the pages of its table', async () => {
    const pages = await Promise.all([1, 2, 3, 4].map(async page => text(`/pipelines/3/5001?jobs=${page}`)))
    expect(new Set(pages.flatMap(page => [...namesIn(page)])).size).toBe(jobs)
    for (const page of pages) expect(page).toMatch(/href="\/pipelines\/3\/5001\?jobs=4#jobs"[^>]*>1,501–2,000</)
    expect(namesIn(await text('/pipelines/3/5001?jobs=99'))).toEqual(namesIn(pages[3] ?? ''))
  })

  it('says how many are not drawn, stage by stage and in all, and draws the one that failed', async () => {
    const page = await text('/pipelines/3/5001')
    const drawn = [...page.matchAll(/class="row job[^"]*"/g)].length
    const left = [...page.matchAll(/>([\d,]+) more not drawn</g)].map(([, count]) => Number(count))
    expect(drawn).toBeGreaterThan(300)
    expect(drawn + left.reduce((sum, count) => sum + count, 0)).toBe(jobs)
    expect(page.replace(/\s+/g, ' ')).toContain(`${(jobs - drawn).toLocaleString('en')} of 2,000 jobs are not drawn`)
    expect(page).toMatch(/class="row job warn[^"]*">\s*<title>job 1500,/)
  })
})

it('leads from a job of a child to the page of that child', async () => {
  const page = await text('/pipelines/3/5002')
  expect(page).toContain('href="/pipelines/3/5003/jobs/50030000"')
  expect(page).toContain('href="/pipelines/3/5002/jobs/50020000"')
  expect(await text('/pipelines/3/5003/jobs/50030000')).toContain('<h1>of the child</h1>')
})

describe.skipIf(chromiumPath === undefined)('in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(async () => browser.close())

  async function open(path: string, width: number): Promise<Page> {
    const page = await (await openContext(browser, { viewport: { width, height: 900 } })).newPage()
    await page.goto(house.url + path)
    return page
  }

  it.each([1_440, 1_024])('a long name of a job leaves every column in sight, %i pixels wide', async width => {
    const page = await open('/pipelines/3/5002', width)
    const beyond = await page.evaluate(
      `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('#jobs .scroll'))`,
    )
    expect(beyond).toBe(0)
    expect(await page.locator('#jobs', { hasText: longName }).count()).toBe(1)
    await page.context().close()
  })

  it.each([
    ['/trends?span=24h', '.chart svg', 'text'],
    ['/pipelines/3/5002', 'svg.waterfall', 'text'],
  ])('every label of %s is within its drawing, and none runs into the bars', async (path, drawing, label) => {
    const page = await open(path, 1_440)
    const clipped = await page.evaluate<string[]>(`[...document.querySelectorAll('${drawing}')].flatMap(svg => {
      const frame = svg.getBoundingClientRect()
      return [...svg.querySelectorAll('${label}')].filter(text => {
        const { left, right } = text.getBoundingClientRect()
        const bars = text.matches('.label') ? svg.querySelector('.bar').getBoundingClientRect().left : Infinity
        return left < frame.left || right > frame.right || right > bars
      }).map(text => text.textContent)
    })`)
    expect(clipped).toEqual([])
    const all = (await page.locator(`${drawing} ${label}`).allTextContents()).join('\n')
    expect(all).toContain('1 h 30 m')
    await page.context().close()
  })
})
