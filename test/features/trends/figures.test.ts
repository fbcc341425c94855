// Tests figures over time and costs on both databases: what snapshots add to them, and what queries read.
import { beforeEach, describe, expect, it } from 'vitest'
import { at, event, instance, job, rules, t0 } from '../../flow/world.ts'
import { bothDatabases, type BareBench } from '../../core/store/benches.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { createFoldLoop } from '../../../src/features/trends/counting/fold.ts'
import { costsOn } from '../../../src/features/trends/cost/sql.ts'
import { countFigures, pruneFigures } from '../../support/counted-figures.ts'
import { day, hour, trendOrders } from '../../../src/features/trends/counting/figures.ts'
import type { TrendFilter, TrendReads, TrendViews } from '../../../src/features/trends/counting/figures.ts'
import { lockNames } from '../../../src/core/store/sql/steps.ts'
import { manyRuns } from '../../core/store/many-runs.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { middleOf } from '../../../src/lib/log-bins.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { snapshotWork } from '../../core/store/exported-run.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { trendsOn } from '../../../src/features/trends/reading/sql.ts'
import { unbounded } from '../../../src/core/store/sql/reading.ts'
import type { CostGroup, CostReads } from '../../../src/features/trends/cost/rows.ts'
import type { CostLine } from '../../../src/features/trends/cost/shape.ts'
import type { ObservedJob, PipelineFacts } from '../../../src/model/observation.ts'
import type { RateOf } from '../../../src/model/runner-time.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const used = { worker: '', totalMs: 1_000 }

describe.each(bothDatabases())('figures over time on %s', (database, bench) => {
  let here: BareBench
  let store: Store
  let trends: TrendViews
  let costs: CostReads

  beforeEach(async () => {
    here = closeAfterTest(await bench())
    store = await here.open()
    trends = store.on(sql => trendsOn(unbounded(sql)))
    costs = store.on(sql => costsOn(unbounded(sql)))
  })

  async function observe(
    id: number,
    status: string,
    seconds: { created: number; finished?: number },
    facts: Partial<PipelineFacts> = {},
    jobs: ObservedJob[] = [],
  ): Promise<void> {
    const finishedAt = seconds.finished === undefined ? {} : { finishedAt: at(seconds.finished) }
    const observed = event(status, { createdAt: at(seconds.created), ...finishedAt }, jobs, facts, id)
    await store.runs.transact(mergeObservations([observed], 'webhook', rules))
  }
  const prune = async (keep: number): Promise<number> => pruneFigures(store, keep, here.now())
  async function takeSnapshot(pipelineId: number, rateOf?: RateOf): Promise<void> {
    await store.runs.transact([snapshotWork(pipelineId, undefined, rateOf)])
  }

  it('adds up every snapshot once by hour and once by day, in any order', async () => {
    const failing = [job(1, 'e2e', 'failed', { started: 0, finished: 100 }, { queuedDuration: 4 })]
    await observe(1, 'failed', { created: 0, finished: 100 }, { queuedDuration: 2 }, failing)
    await takeSnapshot(1)
    here.move(100_000)
    await countFigures(store)
    const retried = [...failing, job(2, 'e2e', 'success', { started: 200, finished: 300 })]
    await observe(1, 'success', { created: 0, finished: 300 }, {}, retried)
    await takeSnapshot(1)
    here.move(100_000)
    await countFigures(store)
    await countFigures(store)
    const query = { step: hour, since: t0 - day, until: t0 + day } as const
    const [all] = await trends.series({}, query)
    expect(all).toMatchObject({ runs: 2, failed: 1, bucket: t0 - (t0 % hour), totalMs: 200_000 })
    expect(Object.entries(all!.durations).map(([bin, count]) => [count, within(middleOf(bin), 100_000)])).toEqual([
      [2, true],
    ])
    const [e2e] = await trends.jobs('flakiest', { ...query, step: day }, 5)
    expect(e2e).toMatchObject({ job: 'e2e', project: 'acme/shop', runs: 2, failed: 1, flaky: 1, totalMs: 200_000 })
    expect(Object.keys(e2e!.queues).map(bin => within(middleOf(bin), 4_000))).toEqual([true])
    expect(await trends.projects('runs', query, 5)).toMatchObject([{ projectId: 3, runs: 2 }])
    const projectBranches = await trends.projectBranches({ ...query, group: 'acme/' }, 5)
    expect(projectBranches).toMatchObject([{ project: 'acme/shop', runs: 2 }])
    expect(await trends.projectBranches({ ...query, group: 'acme/shop/' }, 5)).toEqual([])
    const ofGroup = await trends.series({}, { ...query, group: 'acme/' })
    expect(ofGroup.reduce((sum, { runs }) => sum + runs, 0)).toBe(2)
    expect(await trends.series({}, { ...query, group: 'other/' })).toEqual([])
    const several = { ...query, group: new Set(['acme/other', 'acme/shop', 'acme/web']) }
    expect(await trends.projectBranches(several, 5)).toEqual(projectBranches)
    expect(await trends.series({}, several)).toEqual(ofGroup)
    expect(await trends.series({}, { ...query, group: new Set() })).toEqual([])
    expect(await trends.jobs('slowest', { ...query, projectId: 4 }, 5)).toEqual([])
  })

  it('adds up runner time, its cost and the wasted time by day', async () => {
    const rateOf: RateOf = ({ tags }) => (tags === undefined ? undefined : { name: 'large', perMinute: 3, factor: 2 })
    const large = { tags: ['large'], runner: { id: 7, type: 'project_type' } }
    const failing = [
      job(1, 'e2e', 'failed', { started: 0, finished: 60 }, large),
      job(3, 'lint', 'success', { started: 0, finished: 30 }),
      job(4, 'unit', 'failed', { started: 0, finished: 15 }),
      job(5, 'unit', 'success', { started: 20, finished: 50 }),
    ]
    await observe(1, 'failed', { created: 0, finished: 60 }, { ref: 'main' }, failing)
    await takeSnapshot(1, rateOf)
    here.move(100_000)
    await countFigures(store)
    const again = [...failing, job(9, 'e2e', 'success', { started: 200, finished: 320 }, large)]
    await observe(1, 'success', { created: 0, finished: 320 }, { ref: 'main' }, again)
    await takeSnapshot(1, rateOf)
    here.move(100_000)
    await countFigures(store)
    const query = { since: t0 - day, until: t0 + day }
    const none = { totalMs: 0, cost: 0 }
    const [total] = await costs.lines('total', query, 1)
    expect(total).toEqual({
      ...{ project: '', name: '', projectId: undefined, bucket: undefined },
      ...{ runs: 5, totalMs: 255_000, cost: 18 },
      // Reruns that passed do not count as wasted.
      wasted: { retried: { totalMs: 15_000, cost: 0 }, superseded: none, failed: { totalMs: 60_000, cost: 6 } },
    })
    const shown = async (by: CostGroup, projectId?: number): Promise<unknown[]> =>
      (await costs.lines(by, { ...query, projectId }, 10)).map(line => [
        ...[line.projectId, line.project, line.name, line.bucket, line.totalMs, line.cost].filter(
          one => one !== undefined,
        ),
      ])
    expect(await shown('project')).toEqual([[3, 'acme/shop', '', 255_000, 18]])
    for (const [group, lines] of [
      ['acme/', 1],
      ['acme/shop/', 0],
      [new Set(['acme/shop', 'acme/other', 'acme/web']), 1],
      [new Set<string>(), 0],
    ] as const)
      expect(await costs.lines('total', { ...query, group }, 1)).toHaveLength(lines)
    expect(await shown('place')).toEqual([[3, 'acme/shop', 'other', 255_000, 18]])
    expect(await shown('job')).toEqual([
      [3, 'acme/shop', 'e2e', 180_000, 18],
      [3, 'acme/shop', 'unit', 45_000, 0],
      [3, 'acme/shop', 'lint', 30_000, 0],
    ])
    expect(await shown('worker', 3)).toEqual([
      ['acme/shop', 'project_type', 180_000, 18],
      ['acme/shop', '', 75_000, 0],
    ])
    expect((await shown('branch')).length).toBe(1)
    const exact = await costs.retained({ ...query, limit: 10 })
    const { runs, totalMs, cost, wasted } = total!
    const sum = { runs, totalMs, cost, wasted }
    expect(exact).toMatchObject({ total: sum, pipelines: 1, backTo: undefined })
    expect(exact.branches).toEqual([{ ...sum, projectId: 3, project: 'acme/shop', name: 'main' }])
    expect(exact.runners).toMatchObject([
      {
        runnerId: 7,
        worker: 'project_type',
        project: '',
        totalMs: 180_000,
        cost: 18,
        wasted: { failed: { cost: 6 } },
      },
      { runnerId: undefined, worker: '', name: '', totalMs: 75_000, cost: 0 },
    ])
    expect(await shown('day')).toEqual([['', '', t0 - (t0 % day), 255_000, 18]])
    expect(await shown('total', 4)).toEqual([])
    here.move(500 * day)
    await prune(400 * day)
    expect(await shown('total')).toEqual([])
    const stored = await costs.retained({ ...query, limit: 10 })
    expect([stored.pipelines, stored.storedSince]).toEqual([1, t0])
  })

  it('adds up the snapshots taken by an earlier process', async () => {
    await observe(1, 'failed', { created: 0, finished: 100 }, {}, [
      job(1, 'e2e', 'failed', { started: 0, finished: 100 }),
    ])
    await takeSnapshot(1)
    const query = { step: hour, since: t0 - day, until: t0 + day } as const
    expect(await trends.series({}, query)).toEqual([])
    await store.close()
    const other = await here.open()
    await countFigures(other)
    expect(await other.on(sql => trendsOn(unbounded(sql))).series({}, query)).toMatchObject([{ runs: 1, failed: 1 }])
  })

  it('adds up a pipeline of thousands of jobs, and thousands of pipelines', async () => {
    const jobs = Array.from({ length: 3_000 }, (_, at) =>
      job(at + 1, `job ${at}`, 'success', { started: 0, finished: 50 }),
    )
    await observe(1, 'success', { created: 0, finished: 60 }, {}, jobs)
    await takeSnapshot(1)
    await manyRuns({ store, runs: 1_500, until: t0, every: 1, exportQueues: [] })
    await countFigures(store)
    const query = { step: day, since: t0 - day, until: t0 + day } as const
    const all = await trends.series({}, query)
    expect(all.reduce((sum, { runs }) => sum + runs, 0)).toBe(1_501)
    for (const at of [0, 1_500, 2_999])
      expect(await trends.series({ projectId: 3, job: `job ${at}` }, query)).toMatchObject([{ runs: 1, failed: 0 }])
  })

  it('adds up each snapshot once, even if several processes do so concurrently', async () => {
    await manyRuns({ store, runs: 300, until: t0, every: 60_000, exportQueues: [] })
    const other = await here.open()
    await Promise.all([store, other, store].map(countFigures))
    await other.close()
    const query = { step: day, since: t0 - 3 * day, until: t0 + day } as const
    const all = await trends.series({}, query)
    expect(all.reduce((sum, { runs }) => sum + runs, 0)).toBe(300)
    const projects = await trends.projects('runs', query, 50)
    expect(projects.reduce((sum, { runs }) => sum + runs, 0)).toBe(300)
  })

  it('neither loses nor double-counts a snapshot if adding it fails midway', async () => {
    await observe(1, 'success', { created: 0, finished: 100 })
    await takeSnapshot(1)
    await here.sql('ALTER TABLE costs RENAME TO away')
    await observe(2, 'success', { created: 0, finished: 100 }, {}, [
      job(1, 'unit', 'success', { started: 0, finished: 100 }),
    ])
    await takeSnapshot(2)
    await expect(countFigures(store)).rejects.toThrow('costs')
    await here.sql('ALTER TABLE away RENAME TO costs')
    await countFigures(store)
    const query = { step: day, since: t0 - day, until: t0 + day } as const
    expect(await trends.series({}, query)).toMatchObject([{ runs: 2 }])
    expect(await costs.lines('total', query, 1)).toMatchObject([{ runs: 1 }])
  })

  it.each([
    ['another form', { pipeline: [at(100), [0, 100_000]] }],
    ['a job without an end', { jobs: [{ name: 'build' }] }],
    ['a waste of no known purpose', { jobs: [{ name: 'x', endedAt: at(1), used: { ...used, wasted: 'away' } }] }],
    ['no jobs', { jobs: undefined }],
    ['nothing', null],
  ])('counts an unreadable row (%s) as damaged, and adds up the rows after it', async (_what, content) => {
    const known = { instance, projectId: 3, project: 'acme/shop', branch: 'default', source: 'push' }
    const row = content === null ? [null] : [{ ...known, pipelineName: '', jobs: [], ...content }]
    const insert = 'INSERT INTO figures_added (project_id, content) VALUES (3, ?1)'
    await store.on(sql => sql.change(insert, [JSON.stringify(row)]))
    await observe(1, 'success', { created: 0, finished: 100 })
    await takeSnapshot(1)
    await countFigures(store)
    expect(await trends.series({}, { step: day, since: t0 - day, until: t0 + day })).toMatchObject([{ runs: 1 }])
    expect(store.damaged.count).toBe(1)
  })

  it('adds up a backlog in one transaction per turn, so that it can be stopped after each turn', async () => {
    await observe(1, 'success', { created: 0, finished: 100 })
    await takeSnapshot(1)
    const more = 'WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1200)'
    const copy = 'INSERT INTO figures_added (project_id, content) SELECT project_id, content FROM figures_added, n'
    await here.sql(`${more} ${copy}`)
    const query = { step: day, since: t0 - day, until: t0 + day } as const
    const loop = createFoldLoop({ store, clock: systemClock, log: silentLog() })
    loop.start()
    await loop.stop()
    expect(await trends.series({}, query)).toMatchObject([{ runs: 500 }])
    await countFigures(store)
    expect(await trends.series({}, query)).toMatchObject([{ runs: 1_201 }])
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
    expect(await trends.extent({ projectId: 3 })).toEqual({ project: 'acme/shop', first: bucket, last: bucket })
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

  it('deletes hourly figures after some days, and keeps daily figures', async () => {
    await observe(1, 'success', { created: 0, finished: 100 })
    await takeSnapshot(1)
    here.move(100_000)
    await countFigures(store)
    here.move(5 * day)
    expect(await prune(400 * day)).toBe(2)
    const query = { since: t0 - day, until: t0 + day }
    expect(await trends.series({}, { ...query, step: hour })).toEqual([])
    expect(await trends.series({}, { ...query, step: day })).toMatchObject([{ runs: 1 }])
    // Daily figures are kept for the configured time.
    expect(await prune(6 * day)).toBe(0)
    here.move(2 * day)
    expect(await prune(6 * day)).toBe(2)
    expect(await trends.series({}, { ...query, step: day })).toEqual([])
  })

  it('deletes all old figures, even if one transaction is not enough', async () => {
    const row = `INSERT INTO costs SELECT 0, n, 'unit', '', '', '', '', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM n`
    await here.sql(`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1500) ${row}`)
    await here.sql(
      `INSERT INTO costs SELECT project_id, 1, 'e2e', '', '', '', '', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM costs`,
    )
    expect(await prune(day)).toBe(3_000)
  })

  it.runIf(database === 'PostgreSQL')('deletes no figures that another process is adding', async () => {
    await observe(1, 'success', { created: 0, finished: 100 })
    await takeSnapshot(1)
    await countFigures(store)
    here.move(5 * day)
    const other = await here.open()
    const { promise: isLocked, resolve: locked } = Promise.withResolvers<undefined>()
    const done: string[] = []
    const adding = other.on(async sql =>
      sql.transaction(function* (within) {
        yield* lockNames(['trends'], within)
        locked(undefined)
        yield ['SELECT pg_sleep(0.3)', []]
        done.push('added')
      }),
    )
    await isLocked
    expect(await prune(400 * day)).toBe(2)
    done.push('removed')
    await adding
    expect(done).toEqual(['added', 'removed'])
  })
})

function within(found: number, right: number): boolean {
  return Math.abs(found - right) <= right * 0.05
}
