// Tests queries for trends and costs on both databases: by branch class, source and pipeline name, and from stored runs by exact branch and runner.
import { beforeEach, describe, expect, it } from 'vitest'
import { instance, job, t0 } from '../../flow/world.ts'
import { bothDatabases } from '../../core/store/benches.ts'
import { countFigures } from '../../support/counted-figures.ts'
import { manyRuns } from '../../core/store/many-runs.ts'
import { day, trendOrders } from '../../../src/features/trends/counting/figures.ts'
import { openFigures, type FiguresBench } from './figures-bench.ts'
import type { CostLine } from '../../../src/features/trends/cost/shape.ts'
import type { PipelineFacts } from '../../../src/model/observation.ts'
import type { TrendFilter, TrendReads } from '../../../src/features/trends/counting/figures.ts'

describe.each(bothDatabases())('queries for figures over time on %s', (_, bench) => {
  let here: FiguresBench['here']
  let store: FiguresBench['store']
  let trends: FiguresBench['trends']
  let costs: FiguresBench['costs']
  let observe: FiguresBench['observe']
  let takeSnapshot: FiguresBench['takeSnapshot']

  beforeEach(async () => {
    ;({ here, store, trends, costs, observe, takeSnapshot } = await openFigures(bench))
  })

  it('distinguishes pipelines by branch class, source and name', async () => {
    const kinds: Partial<PipelineFacts>[] = [
      { ref: 'main', source: 'push', name: 'Build of main' },
      { ref: 'fix/rounding', source: 'push', name: 'Build of fix/rounding' },
      { ref: 'fix/rounding', source: 'merge_request_event', name: 'Merge request 17' },
      { ref: 'v1.2', source: 'push', tag: true, name: 'Release' },
    ]
    for (const [index, facts] of kinds.entries()) {
      const id = index + 1
      const took = id * 100
      const jobs = [
        job(
          id,
          'unit',
          index === 0 ? 'failed' : 'success',
          { started: 0, finished: took },
          { runner: { id: 1, description: `runner ${id % 2}` } },
        ),
      ]
      await observe(id, index === 0 ? 'failed' : 'success', { created: 0, finished: took }, facts, jobs)
      await takeSnapshot(id)
    }
    here.move(100_000)
    await countFigures(store)
    const query = { step: day, since: t0 - day, until: t0 + day } as const
    const runsOf = async (filter: TrendFilter, subject: object = {}): Promise<number[]> =>
      (await trends.series(subject, { ...query, ...filter })).map(({ runs }) => runs)
    expect(await runsOf({})).toEqual([4])
    expect(await runsOf({ source: 'push' })).toEqual([3])
    expect(await runsOf({ branch: 'merge_request' })).toEqual([1])
    expect(await runsOf({ branch: 'tag' }, { projectId: 3, job: 'unit' })).toEqual([1])
    const pushed = await trends.retained({ ...query, source: 'push', pipelineName: 'Build of *' })
    expect(await pushed.figures.jobs('runs', query, 5)).toMatchObject([{ job: 'unit', runs: 2, failed: 1 }])
    expect(await pushed.figures.series({}, query)).toMatchObject([{ runs: 2 }])
    expect(await runsOf({ branch: 'tag', source: 'web' }, { projectId: 3 })).toEqual([])
    // The part of a pipeline's name that changes from run to run is replaced by an asterisk.
    const names = await trends.names({ ...query, projectId: 3 }, 10)
    expect(names).toEqual(
      ['Build of *', 'Merge request *', 'Release'].map(one => ({ name: one, project: 'acme/shop' })),
    )
    expect(await runsOf({ pipelineName: 'Build of *' })).toEqual([2])
    expect(await runsOf({ pipelineName: 'Build of *' }, { projectId: 3 })).toEqual([2])
    const usual = await trends.ofJobs({ instance, projectId: 3 }, ['', 'unit', 'none'], query)
    const found = usual.map(({ job: of, branch, runs, totalMs }) => [of, branch, runs, totalMs])
    expect(found).toContainEqual(['unit', 'merge_request', 1, 300_000])
    expect(found).toContainEqual(['', 'tag', 1, 400_000])
    expect(found).toHaveLength(6)
    expect(await trends.ofJobs({ instance: 'https://other.example', projectId: 3 }, ['unit'], query)).toEqual([])
    expect((await trends.jobs('failing', query, 5)).map(one => [one.job, one.failed])).toEqual([['unit', 1]])
    expect(await trends.jobs('flakiest', query, 5)).toEqual([])
    expect(await trends.projects('total', query, 5)).toMatchObject([{ projectId: 3, totalMs: 1_000_000 }])
    const bucket = t0 - (t0 % day)
    expect(await trends.extent({ projectId: 3 })).toEqual({
      instance,
      project: 'acme/shop',
      first: bucket,
      last: bucket,
    })
    expect(await trends.extent({ projectId: 4 })).toBeUndefined()
  })

  it('computes the same figures from stored runs, by exact branch and by runner, as from the sums over time', async () => {
    await manyRuns({ store, runs: 300, until: t0, every: 60_000, exportQueues: [] })
    here.move(100_000)
    await countFigures(store)
    const query = { step: day, since: t0 - 3 * day, until: t0 + day } as const
    const all = await trends.retained(query)
    expect([all.pipelines, all.backTo]).toEqual([300, undefined])
    const subject = { projectId: 100, job: 'unit' }
    expect(await all.figures.series(subject, query)).toEqual(await trends.series(subject, query))
    expect(await all.figures.series({}, query)).toEqual(await trends.series({}, query))
    for (const by of trendOrders) {
      expect(await all.figures.projects(by, query, 3)).toEqual(await trends.projects(by, query, 3))
      const rank = async (figures: TrendReads): Promise<unknown[]> =>
        (await figures.jobs(by, query, 4)).map(({ projectId, job: of, runs, totalMs }) => [
          projectId,
          of,
          runs,
          totalMs,
        ])
      expect(await rank(all.figures)).toEqual(await rank(trends))
    }
    const main = await trends.retained({ ...query, ref: 'main', projectId: 100 })
    const counted = (await main.figures.series({ projectId: 100 }, query)).reduce((sum, { runs }) => sum + runs, 0)
    expect(counted).toBe((await store.views.search({ ref: 'main', project: 'acme/shop/api', limit: 300 })).runs.length)
    expect(counted).toBeGreaterThan(0)
    expect(await (await trends.retained({ ...query, runner: 'nobody' })).figures.series({}, query)).toEqual([])
  })

  it('computes the same costs from stored runs, by exact branch and by runner, as from the daily sums, and returns the number of runs', async () => {
    await manyRuns({ store, runs: 80, until: t0, every: 900_000, exportQueues: [] })
    here.move(100_000)
    await countFigures(store)
    const midnight = t0 - (t0 % day)
    const query = { since: midnight - day, until: midnight + day, limit: 100 }
    const plain = ({
      runs,
      totalMs,
      cost,
      wasted,
    }: Pick<CostLine, 'runs' | 'totalMs' | 'cost' | 'wasted'>): unknown => ({
      ...{ runs, totalMs, cost, wasted },
    })
    for (const projectId of [undefined, 100]) {
      const all = await costs.retained({ ...query, projectId })
      const [total] = await costs.lines('total', { ...query, projectId }, 1)
      expect(plain(all.total)).toEqual(plain(total!))
      expect([all.backTo, all.storedSince]).toEqual([undefined, t0 - 79 * 900_000])
      const listed = all.branches.map(({ projectId: of, name }) => `${of} ${name}`)
      expect(new Set(listed).size).toBe(listed.length)
      const added = (lines: readonly CostLine[]): number => lines.reduce((sum, { totalMs }) => sum + totalMs, 0)
      expect(all.runners.length).toBeGreaterThan(5)
      expect(added(all.branches)).toBe(total!.totalMs)
      expect(added(all.runners)).toBe(total!.totalMs)
      for (const { name, totalMs } of await costs.lines('worker', { ...query, projectId }, 5)) {
        expect(added(all.runners.filter(({ worker }) => worker === name))).toBe(totalMs)
      }
      for (const { projectId: of, totalMs } of await costs.lines('project', { ...query, projectId }, 100)) {
        expect(added(all.branches.filter(one => one.projectId === of))).toBe(totalMs)
      }
      expect(all.branches.map(({ totalMs }) => totalMs)).toEqual(
        all.branches.map(({ totalMs }) => totalMs).toSorted((a, b) => b - a),
      )
    }
    // Trends and costs count the same jobs of a runner.
    const [runner] = (await costs.retained(query)).runners
    const counted = await trends.retained({ ...query, step: day, runner: runner!.name })
    const its = await counted.figures.series({}, { ...query, step: day })
    expect(its.reduce((sum, { runs }) => sum + runs, 0)).toBe(runner!.runs)
    const some = await costs.retained({ ...query, limit: 2, max: 20 })
    expect([some.branches.length, some.runners.length]).toEqual([2, 2])
    expect([some.pipelines, some.backTo]).toEqual([20, t0 - 19 * 900_000])
    const shop = await costs.retained({ ...query, group: 'acme/shop/' })
    expect(new Set(shop.branches.map(({ project }) => project.split('/')[1]))).toEqual(new Set(['shop']))
    expect(shop.total.totalMs).toBe(shop.branches.reduce((sum, { totalMs }) => sum + totalMs, 0))
    expect((await costs.retained({ ...query, projectId: 7 })).pipelines).toBe(0)
  })
})
