// Tests the verdicts about finished pipelines and jobs, at the top of their pages and in the JSON API.
import { countFigures } from '../support/counted-figures.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openHouse, pipelineWebhook, until, type House } from './house.ts'
import { minRuns } from '../../src/console/pipelines/usual.ts'

interface Job {
  readonly name: string
  readonly status?: string
  /** When the job started, in seconds after its pipeline began. */
  readonly from: number
  readonly to: number
}

const begun = Date.now() - 6 * 3_600_000
const build = { name: 'build', from: 5, to: 65 }
const asUsual: readonly Job[] = [build, { name: 'unit tests', from: 70, to: 130 }]
const retried: readonly Job[] = [
  build,
  { name: 'unit tests', status: 'failed', from: 70, to: 105 },
  { name: 'unit tests', from: 162, to: 222 },
]

function webhook(id: number, status: string, jobs: readonly Job[]): string {
  const took = status === 'running' ? undefined : Math.max(...jobs.map(({ to }) => to))
  const queued = jobs.map(job => ({ ...job, queued: 5 }))
  return pipelineWebhook({ id, begun: begun + id * 300_000, took, attributes: { status }, jobs: queued })
}

let house: House
const last = minRuns + 5
beforeAll(async () => {
  house = await openHouse()
  const runs = [
    ...Array.from({ length: last - 1 }, (_, at) => webhook(at + 1, 'success', asUsual)),
    webhook(last, 'success', retried),
    webhook(last + 1, 'failed', retried.slice(0, 2)),
    webhook(last + 2, 'running', [build]),
  ]
  for (const body of runs) await house.post(body)
  await until(async () => {
    const { open, runs: all } = await house.daemon.store.runs.count()
    return all === runs.length && open === 1
  }, 20_000)
  await countFigures(house.daemon.store)
})
afterAll(async () => house.close())

interface Detail {
  readonly verdict?: {
    sentence: string
    ms: number
    comparedWith?: number
    parts: readonly { kind: string; ms: number }[]
  }
}
const detail = async (path: string): Promise<Detail> =>
  (await (await fetch(`${house.url}/api/pipelines/3/${path}`)).json()) as Detail
const page = async (path: string): Promise<string> => (await fetch(`${house.url}/pipelines/3/${path}`)).text()

it('explains why a pipeline was slower than usual, in parts that add up to the difference', async () => {
  const { verdict } = await detail(String(last))
  expect(verdict?.sentence).toMatch(
    /^1 m \d\d s slower than usual: 57 s waiting for a retry of unit tests, 35 s in its failed attempt$/,
  )
  expect(verdict?.parts.reduce((sum, { ms }) => sum + ms, 0)).toBe(verdict?.ms)
  const shown = await page(String(last))
  expect(shown).toContain('slower than usual: 57 s waiting for a retry of unit tests, 35 s in its failed attempt.')
  expect(verdict?.comparedWith).toBeLessThan(last)
  expect(shown).toContain(`compare?with=${verdict?.comparedWith}">Compare with #${verdict?.comparedWith}`)
})

it('reports that a pipeline and its jobs took as long as usual', async () => {
  expect((await detail('3')).verdict).toMatchObject({ sentence: 'as usual', outcome: 'usual' })
  expect((await detail('3/jobs/300')).verdict).toMatchObject({ sentence: 'as usual' })
  expect(await page('3/jobs/300')).toContain('<p class="verdict">As usual.</p>')
})

it('names the job that made a pipeline fail, and gives no verdict for a running pipeline', async () => {
  expect((await detail(String(last + 2))).verdict).toBeUndefined()
  expect(await page(String(last + 2))).not.toContain('class="verdict"')
  expect((await detail(String(last + 1))).verdict?.sentence).toBe('failed in unit tests after 1 m 45 s')
  const address = `/pipelines/3/${last + 1}/jobs/${(last + 1) * 100 + 1}`
  expect(await page(String(last + 1))).toContain(`<a href="${address}"><strong>unit tests</strong></a> failed in`)
})
