// Tests pages about unusually large pipelines and unusually long names: nothing is omitted without a notice, and every link leads to its target.
import { countFigures } from '../support/counted-figures.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { barriersOf, beyond, boxOf, chromiumPath, launch, openContext, showAs } from './browser.ts'
import { openHouse, pipelineWebhook, until, type House } from './house.ts'
import type { Page } from 'playwright-core'

const jobs = 2_000
const longName = 'aNameWithoutAnyBlank'.repeat(12)
const begun = Date.now() - 5 * 3_600_000

function pipeline(id: number, names: readonly string[], length: number, more: object = {}): string {
  const builds = names.map((name, index) => ({
    ...{ id: id * 10_000 + index, stage: `stage ${Math.floor(index / 250)}`, name, allow_failure: true },
    status: index === 1_500 || name === 'lint 77' ? 'failed' : 'success',
    started_at: new Date(begun + 1_000).toISOString(),
    finished_at: new Date(begun + (length - (index % 7)) * 1_000).toISOString(),
  }))
  return pipelineWebhook({ id, begun, took: length, more: { builds, ...more } })
}

let house: House
beforeAll(async () => {
  house = await openHouse()
  const parent = { source_pipeline: { project: { id: 3 }, job_id: 50_020_000, pipeline_id: 5_002 } }
  await house.post(
    pipeline(
      5_001,
      Array.from({ length: jobs }, (_, index) => `job ${index}`),
      600,
    ),
  )
  await house.post(pipeline(5_002, ['trigger', longName, '长名字'.repeat(40)], 5_400))
  await house.post(pipeline(5_003, ['of the child'], 60, parent))
  await house.post(
    pipeline(
      5_004,
      Array.from({ length: 500 }, (_, index) => `${index < 100 ? 'lint' : 'unit'} ${index}`),
      600,
    ),
  )
  await until(async () => (await house.daemon.store.views.search({ limit: 5 })).runs.length === 4)
  await until(async () => (await house.daemon.store.runs.count()).open === 0)
  await countFigures(house.daemon.store)
})
afterAll(async () => house.close())

const text = async (path: string): Promise<string> => (await fetch(house.url + path)).text()
const namesIn = (page: string): Set<string> =>
  new Set([...page.matchAll(/>(job \d+)<\/a>/g)].map(([, name]) => name ?? ''))

describe('the page of a pipeline with 2,000 jobs', () => {
  it('lists all jobs of a large pipeline in a paginated table', async () => {
    const pages: string[] = []
    // The pages are requested one after another, because a request that has to wait for seconds behind others is closed.
    for (const page of [1, 2, 3, 4]) pages.push(await text(`/pipelines/3/5001?jobs=${page}`))
    expect(new Set(pages.flatMap(page => [...namesIn(page)])).size).toBe(jobs)
    for (const page of pages) expect(page).toMatch(/href="\/pipelines\/3\/5001\?jobs=4#jobs"[^>]*>1,501–2,000</)
    expect(namesIn(await text('/pipelines/3/5001?jobs=99'))).toEqual(namesIn(pages[3] ?? ''))
  })

  it('reports how many jobs are not drawn, by stage and in total, and draws all failed ones', async () => {
    const page = await text('/pipelines/3/5001')
    const drawn = [...page.matchAll(/class="row job[^"]*"/g)].length
    const left = [...page.matchAll(/>([\d,]+) more not drawn</g)].map(([, count]) => Number(count))
    expect(drawn).toBeGreaterThan(900)
    expect(drawn + left.reduce((sum, count) => sum + count, 0)).toBe(jobs)
    expect(page.replace(/\s+/g, ' ')).toContain(`${(jobs - drawn).toLocaleString('en')} of 2,000 jobs are not drawn`)
    expect(page).toMatch(/class="row job warn[^"]*">\s*<div class="label">[^§]{0,300}>job 1500</)
  })
})

describe("a pipeline's jobs", () => {
  const jobsIn = (page: string): Set<string> =>
    new Set([...page.matchAll(/>((?:lint|unit) \d+)<\/a>/g)].map(([, name]) => name ?? ''))
  const shown = async (query: string): Promise<string[]> => [...jobsIn(await text(`/pipelines/3/5004?${query}`))]

  it('filters jobs by part of their name or stage, in the waterfall and in the table', async () => {
    expect((await shown('find=LINT%201')).sort()).toEqual(
      ['lint 1', ...Array.from({ length: 10 }, (_, at) => `lint 1${at}`)].sort(),
    )
    expect(await shown('find=stage+1')).toHaveLength(250)
    const none = await text('/pipelines/3/5004?find=nothing')
    expect(none).toContain('No job of this pipeline matches.')
    expect(jobsIn(none).size).toBe(0)
  })

  it('filters jobs to the failed ones, those on the critical path, or the slowest', async () => {
    expect(await shown('show=failed')).toEqual(['lint 77'])
    expect(await shown('show=failed&find=unit')).toEqual([])
    expect(await shown('show=slowest')).toHaveLength(20)
    expect((await shown('show=critical')).length).toBeGreaterThan(0)
    expect((await shown('show=critical')).length).toBeLessThan(20)
  })

  it('keeps the job filter when jobs are sorted', async () => {
    expect(await text('/pipelines/3/5004?find=lint&show=slowest')).toMatch(
      /href="\/pipelines\/3\/5004\?find=lint&amp;show=slowest&amp;sort=name#jobs"/,
    )
  })
})

it("links a job of a child pipeline to the child's page", async () => {
  const page = await text('/pipelines/3/5002')
  expect(page).toContain('href="/pipelines/3/5003/jobs/50030000"')
  expect(page).toContain('href="/pipelines/3/5002/jobs/50020000"')
  expect(await text('/pipelines/3/5003/jobs/50030000')).toContain('<h1>of the child</h1>')
})

describe.skipIf(chromiumPath === undefined)('large pipelines in a browser', () => {
  let page: Page
  beforeAll(async () => {
    const browser = await launch()
    page = await (await openContext(browser)).newPage()
    return async () => browser.close()
  })

  async function open(path: string, width: number): Promise<void> {
    await showAs(page, { width })
    await page.goto(house.url + path)
  }

  it.each([1_440, 1_024])(
    'keeps every column visible next to a long job name on a page %i pixels wide',
    async width => {
      await open('/pipelines/3/5002', width)
      const hidden = await page.evaluate(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('#jobs .scroll'))`,
      )
      expect(hidden).toBe(0)
      expect(await page.locator('#jobs', { hasText: longName }).count()).toBe(1)
    },
  )

  it('keeps every chart label within its drawing', async () => {
    await open('/trends?span=24h', 1_440)
    const clipped = await page.evaluate<string[]>(`[...document.querySelectorAll('.chart svg')].flatMap(svg => {
      const frame = svg.getBoundingClientRect()
      return [...svg.querySelectorAll('text')].filter(text => {
        const { left, right } = text.getBoundingClientRect()
        return left < frame.left || right > frame.right
      }).map(text => text.textContent)
    })`)
    expect(clipped).toEqual([])
    expect((await page.locator('.chart svg text').allTextContents()).join('\n')).toContain('1 h 30 m')
  })

  it.each([
    [1_440, 'beside'],
    [400, 'above'],
  ] as const)('places waterfall labels on a page %i pixels wide %s the bars', async (width, where) => {
    await open('/pipelines/3/5002', width)
    interface Box {
      readonly left: number
      readonly right: number
      readonly top: number
      readonly bottom: number
    }
    const places = await page.evaluate<{ label: Box; track: Box; took: Box | null }[]>(
      `[...document.querySelectorAll('.waterfall .row')].map(row => {
        const [label, track] = [row.querySelector('.label'), row.querySelector('.track')].map(one => one.getBoundingClientRect().toJSON())
        const took = row.querySelector(innerWidth > 700 ? '.took' : '.ran')?.getBoundingClientRect().toJSON() ?? null
        return { label, track, took }
      })`,
    )
    expect(places.length).toBeGreaterThan(5)
    for (const { label, track, took } of places) {
      if (where === 'above') expect(label.bottom).toBeLessThanOrEqual(track.top + 1)
      else expect(label.right).toBeLessThanOrEqual(track.left + 1)
      if (took !== null) expect(took.right).toBeLessThanOrEqual(track.right + 1)
    }
    expect(await page.locator('.axis-line').textContent()).toContain('1 h 30 m')
    expect(await page.evaluate(beyond)).toBe(0)
  })

  it('shows a pipeline of 500 jobs, including its failed job, on at most five screens', async () => {
    await open('/pipelines/3/5004', 1_440)
    expect(await page.evaluate('document.documentElement.scrollHeight / innerHeight')).toBeLessThanOrEqual(5)
    expect(await page.locator('.waterfall .row.job.warn', { hasText: 'lint 77' }).isVisible()).toBe(true)
    const rest = page.locator('.stage-rest').first()
    expect(await rest.locator('.row.job').first().isVisible()).toBe(false)
    await rest.locator('summary').click()
    expect(await rest.locator('.row.job').first().isVisible()).toBe(true)
    expect(await barriersOf(page)).toEqual([])
  })

  it('collapses the passed stages of a large pipeline, and keeps the time axis visible', async () => {
    await open('/pipelines/3/5001', 1_440)
    const isOpen = await page.evaluate<boolean[]>(`[...document.querySelectorAll('.stage-rows')].map(one => one.open)`)
    expect(isOpen).toHaveLength(8)
    expect(isOpen[6]).toBe(true)
    expect(isOpen.filter(one => !one).length).toBeGreaterThan(3)
    await page.locator('.row.job.warn').scrollIntoViewIfNeeded()
    const { y } = await boxOf(page.locator('.axis-line'))
    expect([y >= 0, y < 900]).toEqual([true, true])
  })

  it('zooms and pans a waterfall by keys, buttons and dragging, and keeps the zoom during live updates', async () => {
    await open('/pipelines/3/5002', 1_440)
    const waterfall = page.locator('.waterfall').first()
    const bar = waterfall.locator('.row.job .bar').first()
    const [wide, ticks] = [async () => boxOf(bar), async () => waterfall.locator('.axis-line text').allTextContents()]
    const before = [await wide(), await ticks()] as const
    await waterfall.focus()
    await page.keyboard.press('+')
    // The zoomed waterfall is drawn in the browser's next frame.
    await expect.poll(async () => (await wide()).width / before[0].width).toBeCloseTo(2, 1)
    await expect.poll(ticks).not.toEqual(before[1])
    const zoomed = await wide()
    await page.keyboard.press('ArrowRight')
    await expect.poll(async () => (await wide()).x).toBeLessThan(zoomed.x)
    const panned = await wide()
    const { x, y, width } = await boxOf(waterfall.locator('.row.job .track').first())
    await page.mouse.move(x + width / 2, y + 4)
    await page.mouse.down()
    await page.mouse.move(x + width / 2 + 20, y + 4)
    await page.evaluate(`{
      const region = document.getElementById('waterfall')
      region.innerHTML = region.innerHTML
      region.dispatchEvent(new CustomEvent('replaced', { bubbles: true }))
    }`)
    await page.mouse.move(x + width / 2 + 60, y + 4, { steps: 2 })
    await page.mouse.up()
    await expect.poll(async () => (await wide()).x - panned.x).toBeCloseTo(60, 0)
    await expect.poll(async () => (await wide()).width).toBeCloseTo(zoomed.width, 0)
    await waterfall.getByRole('button', { name: 'All' }).click()
    await expect.poll(async () => (await wide()).width).toBeCloseTo(before[0].width, 0)
    await expect.poll(ticks).toEqual(before[1])
  })
})
