// Tests the comparison of two runs of a pipeline.
import { countFigures } from '../support/counted-figures.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, launch, openContext } from './browser.ts'
import { openHouse, pipelineWebhook, until, type House } from './house.ts'

const begun = Date.now() - 6 * 3_600_000

interface Job {
  readonly name: string
  readonly stage?: string
  readonly status?: string
  readonly from: number
  readonly to: number
}

interface Run {
  readonly id: number
  /** When the run starts, in minutes after the first run. */
  readonly after: number
  readonly ref?: string
  readonly status?: string
  readonly name?: string
  readonly jobs: readonly Job[]
  readonly took: number
}

function webhook({ id, after, jobs, took, ...attributes }: Run): string {
  const queued = jobs.map(job => ({ ...job, queued: job.from / 10 }))
  return pipelineWebhook({ id, begun: begun + after * 60_000, took, attributes, jobs: queued })
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

describe('the comparison of a pipeline', () => {
  it('compares a pipeline with the previous one of the same branch and name', async () => {
    expect((await compared(105, 'before')).other?.pipelineId).toBe(102)
    expect((await compared(102, 'before')).other?.pipelineId).toBe(101)
    expect((await compared(103, 'before')).other).toBeUndefined()
  })

  it('compares a pipeline with the last successful one of its branch or of the default branch', async () => {
    expect((await compared(105, 'green')).other?.pipelineId).toBe(101)
    expect((await compared(104, 'green')).other?.pipelineId).toBe(101)
    expect((await compared(101, 'green')).other).toBeUndefined()
  })

  it('compares a pipeline with one given by its number, if it exists', async () => {
    expect((await compared(105, '104')).other?.pipelineId).toBe(104)
    expect((await compared(105, '999')).comparison).toBeUndefined()
    expect(await read('/pipelines/3/105/compare?with=999')).toContain('No pipeline #999')
    expect((await fetch(`${house.url}/api/pipelines/3/105/compare?with=best`)).status).toBe(400)
    expect(await read('/pipelines/3/105/compare?with=best')).toContain('“best” is not a valid comparison')
    expect((await fetch(`${house.url}/pipelines/3/999/compare`)).status).toBe(404)
  })

  it('compares a pipeline and its jobs with their usual figures', async () => {
    const { comparison } = await compared(105, 'usual')
    const compile = comparison?.jobs.find(({ name }) => name === 'compile')
    expect(compile?.ranDeltaMs).toBeGreaterThan(50_000)
    expect(await read('/pipelines/3/105/compare?with=usual')).toContain('Usual (median)')
  })
})

it('shows which jobs are new, removed, now failing, now passing or retried, and how much longer each took', async () => {
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

it('explains the whole difference between two runs by their critical paths, largest contribution first', async () => {
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

it('explains the whole difference from the usual duration by job, failed attempts and the wait for a retry', async () => {
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

describe.skipIf(chromiumPath === undefined)('the comparison of a pipeline in a browser', () => {
  it('draws both runs on one time axis, and sorts by a column using the keyboard', async () => {
    const browser = await launch()
    const page = await (await openContext(browser, { viewport: { width: 1_440, height: 900 } })).newPage()
    await page.goto(`${house.url}/pipelines/3/105`)
    await page.getByRole('link', { name: 'Last that passed' }).focus()
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
