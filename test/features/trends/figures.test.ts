// Tests how snapshots are added to trends and costs, on both databases.
import { beforeEach, describe, expect, it } from 'vitest'
import { at, instance, job, t0 } from '../../flow/world.ts'
import { bothDatabases } from '../../core/store/benches.ts'
import { createFoldLoop } from '../../../src/features/trends/counting/fold.ts'
import { countFigures } from '../../support/counted-figures.ts'
import { manyRuns } from '../../core/store/many-runs.ts'
import { middleOf } from '../../../src/lib/log-bins.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { trendsOn } from '../../../src/features/trends/reading/sql.ts'
import { unbounded } from '../../../src/core/store/sql/reading.ts'
import { day, hour } from '../../../src/features/trends/counting/figures.ts'
import { openFigures, type FiguresBench } from './figures-bench.ts'
import type { CostGroup } from '../../../src/features/trends/cost/rows.ts'
import type { RateOf } from '../../../src/model/runner-time.ts'

const used = { worker: '', totalMs: 1_000 }

describe.each(bothDatabases())('figures over time on %s', (_, bench) => {
  let here: FiguresBench['here']
  let store: FiguresBench['store']
  let trends: FiguresBench['trends']
  let costs: FiguresBench['costs']
  let observe: FiguresBench['observe']
  let takeSnapshot: FiguresBench['takeSnapshot']
  let prune: FiguresBench['prune']

  beforeEach(async () => {
    ;({ here, store, trends, costs, observe, takeSnapshot, prune } = await openFigures(bench))
  })

  it('adds every snapshot once to its hour and once to its day', async () => {
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
})

function within(found: number, right: number): boolean {
  return Math.abs(found - right) <= right * 0.05
}
