// Tests that the regression in the demo's simulated past is found with its cause.
import { countFigures } from '../../support/counted-figures.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { foundRegressions } from '../../../src/features/regressions/documents.ts'
import { judgeOf } from './judge.ts'
import { openHouse, until, type House } from '../../console/house.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { playPast } from '../../../src/simulator/platform/past.ts'
import { figures, projects } from '../../../src/simulator/platform/world.ts'
import type { ListedRun } from '../../../src/console/pipelines/run-card.ts'
import type { Trends } from '../../../src/features/trends/pages/figures.ts'

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(async () => house.close())

it('gives the demo a history with typical durations, an earlier period to compare with, and one regression with its cause', async () => {
  const state = new PlatformState()
  const end = Date.now()
  const past = playPast({ state, instance: 'https://git.brightwater.example', until: end, busyEvery: 35_000 })
  // The hour after this time has a pipeline every 35 s, like the same hour of the previous period, so the sums of both are comparable.
  const then = end - 30 * 24 * 3_600_000
  const busy = [...state.pipelines.values()].filter(
    ({ createdAt }) => createdAt >= then && createdAt < then + 3_600_000,
  )
  expect(busy.filter(({ trigger }) => trigger === undefined).length).toBeGreaterThan(100)
  // The number of deliveries is limited, because each one delays the start of the demo.
  expect(past.length).toBeLessThan(480)
  await house.deliver(past)
  const { repositories, runs } = house.daemon.store
  await until(async () => (await runs.count()).open === 0)
  await countFigures(house.daemon.store)

  const { total, before, jobs } = await api<Pick<Trends, 'total' | 'before' | 'jobs'>>('trends?span=30d')
  // The history covers two months, with about as many pipelines in each, and with changes in both directions.
  expect(before?.runs).toBeGreaterThan(total.runs * 0.6)
  const changeOf = (name: string): number => {
    const job = jobs.find(one => one.job === name)
    return (job?.p50 ?? NaN) / (job?.before?.p50 ?? NaN)
  }
  expect(changeOf('integration tests')).toBeLessThan(0.9)
  expect(changeOf('unit tests 1/3')).toBeGreaterThan(1.05)
  const { pipelines } = await api<{ pipelines: ListedRun[] }>('pipelines?limit=100')
  for (const project of Object.values(projects)) {
    const usual = pipelines.filter(one => one.project === project.path).map(one => one.usual?.runs ?? 0)
    expect(Math.max(...usual), project.path).toBeGreaterThan(2)
  }

  await judgeOf(house.daemon.store).judgeAll()
  const [found, ...more] = await repositories.of(foundRegressions).all()
  expect(more).toEqual([])
  expect(found).toMatchObject({ kind: 'slower', job: 'aggregate', branch: 'default' })
  const ofFigures = past.filter(one => state.pipelines.get(one.pipelineId)?.project === figures)
  expect(found?.first.pipelineId).toBe(ofFigures.at(-8)?.pipelineId)
  expect(found?.cause).toMatch(/^Since then it runs on instance runners; previously mostly on group runners\. /)
})

async function api<T>(path: string): Promise<T> {
  return (await (await fetch(`${house.url}/api/${path}`)).json()) as T
}
