// Two runs of a pipeline side by side.
import { countFigures } from '../support/counted-figures.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, launch, openContext } from './browser.ts'
import { percent } from '../../src/console/layout/format.ts'
import { openHouse, until, type House } from './house.ts'

const begun = Date.now() - 6 * 3_600_000

interface Job {
  readonly name: string
  readonly stage?: string
  readonly status?: string
  /** Seconds from the beginning of its pipeline. */
  readonly from: number
  readonly to: number
}

interface Run {
  readonly id: number
  /** Minutes after the first. */
  readonly after: number
  readonly ref?: string
  readonly status?: string
  readonly name?: string
  readonly jobs: readonly Job[]
  readonly took: number
}

function webhook({ id, after, ref = 'main', status = 'success', name, jobs, took }: Run): string {
  const at = (seconds: number): string => new Date(begun + after * 60_000 + seconds * 1_000).toISOString()
  const web = 'https://git.example.com/acme/shop'
  return JSON.stringify({
    object_kind: 'pipeline',
    object_attributes: {
      ...{ id, ref, status, name, source: 'push', sha: String(id).repeat(10).slice(0, 40) },
      ...{ created_at: at(0), finished_at: at(took) },
    },
    project: { id: 3, name: 'shop', path_with_namespace: 'acme/shop', web_url: web, default_branch: 'main' },
    builds: jobs.map((job, index) => ({
      ...{ id: id * 100 + index, name: job.name, stage: job.stage ?? 'test', status: job.status ?? 'success' },
      ...{ created_at: at(0), started_at: at(job.from), finished_at: at(job.to), queued_duration: job.from / 10 },
    })),
  })
}

const usual: readonly Job[] = [
  { name: 'compile', stage: 'build', from: 10, to: 70 },
  { name: 'unit', from: 75, to: 195 },
  { name: 'lint', from: 75, to: 100 },
  { name: 'docs', from: 75, to: 90 },
]
const runs: readonly Run[] = [
  { id: 101, after: 0, took: 200, jobs: usual },
  { id: 102, after: 30, took: 100, status: 'failed', jobs: [{ ...usual[0]!, status: 'failed' }] },
  { id: 103, after: 40, took: 50, name: 'Nightly', jobs: [usual[0]!] },
  { id: 104, after: 50, took: 30, ref: 'other', jobs: [usual[0]!] },
  {
    ...{ id: 105, after: 60, took: 320, status: 'failed' },
    jobs: [
      { name: 'compile', stage: 'build', from: 10, to: 130 },
      { name: 'unit', status: 'failed', from: 140, to: 200 },
      { name: 'unit', from: 205, to: 300 },
      { name: 'lint', status: 'failed', from: 140, to: 165 },
      { name: 'scan', from: 140, to: 150 },
    ],
  },
]

interface Answer {
  readonly other?: { readonly pipelineId: number }
  readonly comparison?: {
    readonly deltaMs: number
    readonly jobs: readonly { name: string; change: string; ranDeltaMs?: number; here?: { tries: number } }[]
    readonly parts: readonly { part: string; name?: string; deltaMs: number }[]
  }
}

let house: House
beforeAll(async () => {
  house = await openHouse()
  for (const run of runs) await house.post(webhook(run))
  await until(async () => (await house.daemon.store.views.search({ limit: 9 })).runs.length === runs.length)
  await until(async () => (await house.daemon.store.runs.count()).open === 0)
  await countFigures(house.daemon.store)
})
afterAll(async () => house.close())

const read = async (path: string): Promise<string> => (await fetch(house.url + path)).text()
const compared = async (id: number, other: string): Promise<Answer> =>
  JSON.parse(await read(`/api/pipelines/3/${id}/compare?with=${other}`)) as Answer

describe('a pipeline is compared with', () => {
  it('the previous one with the same branch and name', async () => {
    expect((await compared(105, 'before')).other?.pipelineId).toBe(102)
    expect((await compared(102, 'before')).other?.pipelineId).toBe(101)
    expect((await compared(103, 'before')).other).toBeUndefined()
  })

  it('the last successful one of its branch, or of the default branch', async () => {
    expect((await compared(105, 'green')).other?.pipelineId).toBe(101)
    expect((await compared(104, 'green')).other?.pipelineId).toBe(101)
    expect((await compared(101, 'green')).other).toBeUndefined()
  })

  it('one by its number, if it exists', async () => {
    expect((await compared(105, '104')).other?.pipelineId).toBe(104)
    expect((await compared(105, '999')).comparison).toBeUndefined()
    expect(await read('/pipelines/3/105/compare?with=999')).toContain('Its project has no pipeline #999')
    expect((await fetch(`${house.url}/api/pipelines/3/105/compare?with=best`)).status).toBe(400)
    expect(await read('/pipelines/3/105/compare?with=best')).toContain('“best” is nothing to compare with')
    expect((await fetch(`${house.url}/pipelines/3/999/compare`)).status).toBe(404)
  })

  it('its usual figures and those of its jobs', async () => {
    const { comparison } = await compared(105, 'usual')
    const compile = comparison?.jobs.find(({ name }) => name === 'compile')
    expect(compile?.ranDeltaMs).toBeGreaterThan(50_000)
    expect(await read('/pipelines/3/105/compare?with=usual')).toContain('Usual (median)')
  })
})

it('shows which jobs are new, gone, fail, pass or were retried, and how much longer each took', async () => {
  const { comparison } = await compared(105, 'green')
  expect(comparison?.jobs.map(({ name, change, ranDeltaMs, here }) => [name, change, ranDeltaMs, here?.tries])).toEqual(
    expect.arrayContaining([
      ['compile', 'none', 60_000, 1],
      ['unit', 'none', -25_000, 2],
      ['lint', 'failed', 0, 1],
      ['scan', 'new', undefined, 1],
      ['docs', 'gone', undefined, undefined],
    ]),
  )
  expect((await compared(101, '105')).comparison?.jobs).toContainEqual(
    expect.objectContaining({ name: 'lint', change: 'passed' }),
  )
})

it('explains the whole difference by the critical paths, the greatest part first', async () => {
  const { comparison } = await compared(105, 'green')
  const { deltaMs, parts } = comparison!
  expect(deltaMs).toBe(120_000)
  expect(parts.reduce((sum, part) => sum + part.deltaMs, 0)).toBe(deltaMs)
  expect(parts.map(({ part, name, deltaMs: by }) => [part, name, by])).toEqual([
    ['ran', 'compile', 60_000],
    ['attempts', 'unit', 60_000],
    ['ran', 'unit', -25_000],
    ['end', undefined, 15_000],
    ['waited', 'unit', 5_000],
    ['retry', 'unit', 5_000],
  ])
})

it('explains the whole difference from the usual, too: by job, failed attempts and the wait for a retry', async () => {
  const { comparison } = await compared(105, 'usual')
  const { deltaMs, parts } = comparison!
  expect(deltaMs).toBeGreaterThan(0)
  expect(parts.reduce((sum, part) => sum + part.deltaMs, 0)).toBeCloseTo(deltaMs)
  const by = Object.fromEntries(parts.map(part => [`${part.part} ${part.name ?? ''}`, part.deltaMs]))
  expect(by).toMatchObject({ 'attempts unit': 60_000, 'retry unit': 5_000, 'end ': 20_000 })
  const page = await read('/pipelines/3/105/compare?with=usual')
  const table = page.split('aria-label="What explains the difference"')[1]?.split('</table>')[0] ?? ''
  const rows = table.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
  for (const one of [
    'failed attempts of unit',
    'waiting for a retry of unit',
    'other jobs and waits of the usual pipeline',
  ])
    expect(rows).toContain(one)
})

it('counts wasted time once, with one word on tile, card and in JSON', async () => {
  const { total } = JSON.parse(await read('/api/cost')) as {
    total: { totalMs: number; wasted: Record<string, { totalMs: number }> }
  }
  // `unit` was retried in #105; the failed attempt is wasted, the rerun that passed is not.
  expect(Object.entries(total.wasted).map(([purpose, { totalMs }]) => [purpose, totalMs])).toEqual([
    ['retried', 60_000],
    ['superseded', 0],
    ['failed', 85_000],
  ])
  const page = await read('/cost')
  expect(page).toContain('<h2>Wasted work</h2>')
  const tile = page.split('<dt>Wasted</dt>')[1]?.slice(0, 100)
  expect(tile).toContain(percent(145_000 / total.totalMs))
  expect(page).toContain('<h2>Wasted work</h2>')
  expect(page).not.toMatch(/>Lost</)
})

it('sorts tables by any column in both directions without JavaScript', async () => {
  const cellsOf = async (path: string, card: string, column: number): Promise<string[]> => {
    const its = (await read(path)).split(`aria-label="${card}"`)[1]?.split('</table>')[0] ?? ''
    return [...its.matchAll(/<tr>(.*?)<\/tr>/gs)].slice(1).map(([, row = '']) => {
      const cell = [...row.matchAll(/<td>(.*?)<\/td>/gs)][column]?.[1] ?? ''
      return cell
        .replace(/<br.*/s, '')
        .replace(/<[^>]*>/g, '')
        .trim()
    })
  }
  expect(await cellsOf('/cost?sort=name', 'Jobs', 0)).toEqual(['compile', 'docs', 'lint', 'scan', 'unit'])
  expect(await cellsOf('/cost?sort=-name', 'Jobs', 0)).toEqual(['unit', 'scan', 'lint', 'docs', 'compile'])
  expect((await cellsOf('/cost?sort=-time', 'Jobs', 0))[0]).toBe('compile')
  expect((await cellsOf('/cost?sort=-time', 'Branches and tags', 0))[0]).toBe('main')
  expect(await read('/cost?sort=-time')).toMatch(
    /aria-sort="descending">\s*<a class="sort" href="\/cost\?sort=time#by-/,
  )
  expect(await read('/cost?span=30d&sort=time')).toContain('href="/cost?span=30d&amp;sort=-time#by-jobs"')
  const job = '/pipelines/3/105/jobs/10500'
  expect(await cellsOf(`${job}?sort=ran`, 'Recent runs', 2)).toEqual([...Array<string>(4).fill('1 m 00 s'), '2 m 00 s'])
  expect((await cellsOf(`${job}?sort=-ran`, 'Recent runs', 2))[0]).toBe('2 m 00 s')
  for (const page of ['/tests', '/tests/costly', '/environments', '/sources', '/changes', '/timeline', '/tokens']) {
    expect((await fetch(`${house.url}${page}?sort=-nothing`)).status).toBe(200)
  }
})

it('says which stored pipelines were counted for branches and runners', async () => {
  const page = await read('/cost?span=7d')
  expect(page).toContain('Counted over 5 stored pipelines, with 100 % of the job time of this period.')
  expect(page).toMatch(/The oldest stored pipeline was created 20[-\d]+ [\d:]+ UTC/)
  expect(page).toContain('href="/pipelines?project=acme%2Fshop&amp;ref=other"')
  const costs = JSON.parse(await read('/api/cost?span=7d')) as {
    retained: { branches: { name: string; runs: number }[] }
  }
  expect(costs.retained).toMatchObject({ pipelines: 5, storedSince: begun, total: { runs: 12 } })
  expect(costs.retained.branches.map(({ name, runs: jobs }) => [name, jobs])).toEqual([
    ['main', 11],
    ['other', 1],
  ])
})

describe.skipIf(chromiumPath === undefined)('in a browser', () => {
  it('draws both on one time axis, and sorts by a column with the keyboard', async () => {
    const browser = await launch()
    const page = await (await openContext(browser, { viewport: { width: 1_440, height: 900 } })).newPage()
    await page.goto(`${house.url}/pipelines/3/105`)
    await page.getByRole('link', { name: 'The last that passed' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/compare\?with=green$/)
    const bars = await page.evaluate<{ left: number; width: number }[]>(
      `[...document.querySelectorAll('.waterfall .row.job')].filter(row => row.textContent.includes('compile')).map(row => {
        const { left, width } = row.querySelector('.bar').getBoundingClientRect()
        return { left, width }
      })`,
    )
    expect(bars).toHaveLength(2)
    expect(bars[0]!.left).toBeCloseTo(bars[1]!.left, 0)
    expect(bars[0]!.width / bars[1]!.width).toBeCloseTo(2, 1)
    await page.locator('#jobs th', { hasText: 'Ran' }).locator('a').focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/with=green&sort=ran/)
    expect(await page.locator('#jobs tbody tr').first().textContent()).toContain('scan')
    await browser.close()
  })
})
