// What every store's views promise, as one function: run against each database.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { mergeObservations } from '../../src/core/take-in/merge-observations.ts'
import { at, event, instance, job, rules, t0, snapshotterWith } from '../flow/world.ts'
import { day, hour, trendOrders, type TrendFilter, type TrendReads } from '../../src/core/store/ports/trends.ts'
import { isFull } from '../full.ts'
import type { CostGroup, CostLine } from '../../src/core/store/ports/costs.ts'
import { middleOf } from '../../src/lib/log-bins.ts'
import { manyRuns } from './many-runs.ts'
import { snapshotWork } from './exported-run.ts'
import type { Bench } from './benches.ts'
import type { JobFacts, ObservedJob, PipelineFacts } from '../../src/model/observation.ts'
import type { RateOf } from '../../src/model/runner-time.ts'
import type { RunPage, RunQuery } from '../../src/core/store/ports/views.ts'
import type { Store } from '../../src/core/store/ports/store.ts'

export function viewsExercise(name: string, bench: () => Promise<Bench>): void {
  /** What takes thousands of rows is tried on one database in the short form. */
  const isThorough = isFull || name === 'SQLite'

  describe(`the views on ${name}`, () => {
    let here: Bench
    let store: Store

    beforeEach(async () => {
      here = closeAfterTest(await bench())
      store = await here.open()
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
    async function takeSnapshot(pipelineId: number, rateOf?: RateOf): Promise<void> {
      await store.runs.transact([snapshotWork(pipelineId, undefined, rateOf)])
    }
    const ids = ({ runs }: Pick<RunPage, 'runs'>): number[] => runs.map(({ run }) => run.key.pipelineId)
    const found = async (query: Partial<RunQuery>): Promise<number[]> =>
      ids(await store.views.search({ limit: 10, ...query }))

    it('lists runs newest first, a page at a time, each with its jobs', async () => {
      for (const id of [1, 2, 3, 4, 5]) {
        await observe(id, 'success', { created: id, finished: id + 10 }, {}, [job(id * 10, 'build', 'success', {})])
      }
      const first = await store.views.search({ limit: 2 })
      expect(ids(first)).toEqual([5, 4])
      expect([...first.runs[0]!.run.jobs.keys()]).toEqual([50])
      const second = await store.views.search({ limit: 2, after: first.next })
      const third = await store.views.search({ limit: 2, after: second.next })
      expect([ids(second), ids(third), third.next]).toEqual([[3, 2], [1], undefined])
    })

    it('finds runs by status, ref, source, project, time and text, also combined', async () => {
      await observe(1, 'success', { created: 1 }, { ref: 'main', source: 'push', user: { username: 'amina' } })
      await observe(2, 'failed', { created: 2 }, { ref: 'main', source: 'schedule' })
      await observe(
        3,
        'failed',
        { created: 3 },
        { ref: 'fix/100%', source: 'push', commit: { message: 'Round PRICES' } },
      )
      expect(await found({ status: 'failed' })).toEqual([3, 2])
      expect(await found({ status: 'failed', ref: 'main' })).toEqual([2])
      expect(await found({ source: 'push', project: 'acme/shop' })).toEqual([3, 1])
      expect(await found({ project: 'acme/other' })).toEqual([])
      expect(await found({ project: 'acme/' })).toEqual([3, 2, 1])
      expect(await found({ project: 'acme/', source: 'push', text: 'prices' })).toEqual([3])
      expect(await found({ project: 'acm/' })).toEqual([])
      const several = new Set(['acme/shop', 'acme/other', 'acme/one'])
      expect(await found({ project: several, source: 'push', text: 'prices' })).toEqual([3])
      expect(await found({ project: several })).toEqual([3, 2, 1])
      expect(await found({ project: new Set(['acme/other']) })).toEqual([])
      expect(await found({ project: new Set() })).toEqual([])
      expect(await store.views.countRuns({ project: several, status: 'failed' })).toBe(2)
      expect(await store.views.countRuns({ project: 'acme/', status: 'failed' })).toBe(2)
      expect(await found({ since: at(2), until: at(3) })).toEqual([2])
      expect(await found({ text: 'prices round' })).toEqual([3])
      expect(await found({ text: '100%' })).toEqual([3])
      expect(await found({ text: '0_%' })).toEqual([])
      expect(await found({ text: 'Amina' })).toEqual([1])
      expect(await found({ text: '#3' })).toEqual([3])
      expect(await store.views.countRuns({})).toBe(3)
      expect(await store.views.countRuns({ status: 'failed', since: at(3) })).toBe(1)
      expect(await store.views.countRuns({ ref: 'main', source: 'push' })).toBe(1)
    })

    it('finds runs by what no index has, among all and together with what one has', async () => {
      for (const [id, username] of ['amina', 'Amina', 'ben', 'amina'].entries()) {
        await observe(id + 1, id === 3 ? 'failed' : 'success', { created: id + 1 }, { user: { username } })
      }
      expect(await found({ user: 'amina' })).toEqual([4, 1])
      expect(await found({ user: 'amina', status: 'success' })).toEqual([1])
      expect(await found({ user: 'amina', text: '#4' })).toEqual([4])
      expect(await found({ user: 'nobody' })).toEqual([])
      const first = await store.views.search({ user: 'amina', limit: 1 })
      const second = await store.views.search({ user: 'amina', limit: 1, after: first.next })
      expect([ids(first), ids(second), second.next]).toEqual([[4], [1], undefined])
      expect(await store.views.countRuns({ user: 'amina' })).toBeUndefined()
    })

    it('finds runs by the exact name of a job, with a snapshot or still active', async () => {
      const [unit, it, odd] = [
        job(11, 'unit', 'success', { started: 1, finished: 9 }),
        job(21, 'unit tests', 'success', { started: 1, finished: 9 }),
        job(31, '100% "odd"_\\', 'success', { started: 1, finished: 9 }),
      ]
      await observe(1, 'success', { created: 1, finished: 9 }, { ref: 'main' }, [unit])
      await observe(2, 'success', { created: 2, finished: 9 }, { name: 'unit' }, [it])
      await observe(3, 'success', { created: 3, finished: 9 }, {}, [odd])
      for (const id of [1, 2, 3]) await takeSnapshot(id)
      await observe(4, 'running', { created: 4 }, { ref: 'main' }, [job(41, 'unit', 'running', { started: 5 })])
      await observe(5, 'running', { created: 5 }, { ref: 'main' }, [job(51, '100% "odd"_', 'running', { started: 5 })])
      for (const isCounted of [false, true]) {
        while (isCounted && (await store.views.trends.takeIn(100)) > 0);
        expect([isCounted, await found({ job: 'unit' })]).toEqual([isCounted, [4, 1]])
        expect(await found({ job: '100% "odd"_\\' })).toEqual([3])
        expect(await found({ job: 'uni' })).toEqual([])
        expect(await found({ job: 'unit', project: 'acme/shop', status: 'success' })).toEqual([1])
        expect(await found({ job: 'unit', ref: 'main', since: at(2) })).toEqual([4])
        expect(await found({ job: 'unit', project: 'acme/other' })).toEqual([])
      }
      const first = await store.views.search({ job: 'unit', limit: 1 })
      const second = await store.views.search({ job: 'unit', limit: 1, after: first.next })
      expect([ids(first), ids(second)]).toEqual([[4], [1]])
    })

    it('finds runs by the name of a job that exists only in a chunk', async () => {
      const atOnce = { ...rules, settle: 0 }
      const snapshotter = snapshotterWith({ rules: atOnce })
      const odd = '100% "odd"_\\'
      const names: readonly [string, Partial<JobFacts>][] = [
        ['unit', {}],
        ['unit tests', { stage: 'unit', failureReason: 'unit' }],
        [odd, { stage: 'unit' }],
        ['bare', { stage: undefined }],
      ]
      for (const [index, [name, facts]] of names.entries()) {
        const id = index + 1
        const jobs = [job(id * 10, name, 'success', { started: 1, finished: 9 }, facts)]
        const observed = event('success', { createdAt: at(id), finishedAt: at(9) }, jobs, {}, id)
        const work = mergeObservations([observed], 'webhook', atOnce).map(one => snapshotter.atOnce(one, []))
        await store.runs.transact(work)
        expect(await store.views.chunks({ instance, pipelineId: id })).toHaveLength(1)
      }
      for (const isCounted of [false, true]) {
        while (isCounted && (await store.views.trends.takeIn(100)) > 0);
        expect([isCounted, await found({ job: 'unit' })]).toEqual([isCounted, [1]])
        expect(await found({ job: 'unit tests' })).toEqual([2])
        expect(await found({ job: odd })).toEqual([3])
        expect(await found({ job: 'bare' })).toEqual([4])
      }
    })

    it('lists the keys of all runs, the last stored first', async () => {
      for (const id of [1, 2, 3]) await observe(id, 'success', { created: 10 - id, finished: 20 })
      await observe(4, 'success', { created: 1 }, { sourcePipeline: { pipelineId: 1, jobId: 11 } })
      const first = await store.views.listedKeys(3)
      expect(first.map(({ pipelineId, parentId }) => [pipelineId, parentId])).toEqual([
        [4, 1],
        [3, undefined],
        [2, undefined],
      ])
      expect((await store.views.listedKeys(3, first[2])).map(({ pipelineId }) => pipelineId)).toEqual([1])
    })

    it('updates a run whose status, ref and finish change', async () => {
      await observe(1, 'running', { created: 1 })
      expect(ids({ runs: await store.views.inStatus(['running', 'pending'], 10) })).toEqual([1])
      expect(await store.views.countInStatus(['running', 'pending'])).toBe(1)
      const { changedAt } = (await store.views.inStatus(['running'], 1))[0]!.timing
      const silent = await store.views.silentInStatus(['running', 'pending'], changedAt + 1, 10)
      expect([ids(silent), silent.count]).toEqual([[1], 1])
      expect(await store.views.silentInStatus(['running'], changedAt, 10)).toEqual({ runs: [], count: 0 })
      expect(await store.views.newestFirstSeen()).toMatchObject([{ instance, firstSeenAt: changedAt }])
      expect(await store.views.lastFinished(10)).toEqual([])
      await observe(1, 'success', { created: 1, finished: 60 }, { ref: 'release' })
      expect(await store.views.inStatus(['running'], 10)).toEqual([])
      expect(await store.views.countInStatus(['running'])).toBe(0)
      expect(ids({ runs: await store.views.lastFinished(10) })).toEqual([1])
      const [{ run: ended } = { run: undefined }] = await store.views.lastFinished(1)
      const endedAt = ended?.pipeline?.times.finishedAt ?? 0
      expect([await store.views.countFinished(endedAt), await store.views.countFinished(endedAt + 1)]).toEqual([1, 0])
      expect(await found({ ref: 'release' })).toEqual([1])
    })

    it('finds a pipeline with its children and the state of its exports', async () => {
      await observe(1, 'success', { created: 1, finished: 60 })
      await observe(2, 'success', { created: 2, finished: 50 }, { sourcePipeline: { pipelineId: 1, jobId: 11 } })
      await takeSnapshot(1)
      const key = { instance, pipelineId: 1 }
      expect((await store.views.find(3, 1))?.run.key).toEqual(key)
      expect(await store.views.find(4, 1)).toBeUndefined()
      expect(await store.views.find(3, 1, 'https://elsewhere.example')).toBeUndefined()
      expect(ids({ runs: await store.views.children(key) })).toEqual([2])
      const chunks = await store.views.chunks(key)
      expect(chunks.map(chunk => [chunk.attempt, chunk.number])).toEqual([[1, 1]])
      const listed = await store.views.listedKeys(10)
      const [id = 0] = listed.flatMap(one => (one.pipelineId === key.pipelineId ? one.id : []))
      expect((await store.views.chunksOf(listed)).get(id)).toEqual(chunks)
      expect(await store.views.outboxOf(key)).toMatchObject([
        { attempt: 1, chunk: 1, signal: 'traces', destination: 'default', state: 'pending', tries: 0 },
      ])
    })

    it('finds other runs that took about as long, those of the same ref and source first', async () => {
      const ran = async (id: number, took: number, facts: Partial<PipelineFacts> = {}, status = 'success') =>
        observe(
          id,
          status,
          { created: id * 1_000, finished: id * 1_000 + took },
          { ref: 'main', source: 'push', ...facts },
        )
      await ran(1, 100)
      await ran(2, 98)
      await ran(3, 104, { ref: 'next' })
      await ran(4, 100, { ref: 'next', source: 'web' })
      await ran(5, 120)
      await ran(6, 100, {}, 'failed')
      const like = { instance, pipelineId: 1, projectId: 3, project: 'acme/shop', ref: 'main', source: 'push' }
      const about = async (more: object = {}, limit = 10): Promise<readonly number[]> =>
        (await store.views.tookAbout({ ...like, tookMs: 100_000.4, since: t0, ...more }, limit)).map(
          ({ pipelineId }) => pipelineId,
        )
      expect(await about()).toEqual([2, 3, 4])
      expect(await about({}, 1)).toEqual([2])
      expect(await about({ since: t0 + 2_500_000 })).toEqual([3, 4])
      expect(await about({ projectId: 4 })).toEqual([])
      expect(await about({ instance: 'https://elsewhere.example' })).toEqual([])
    })

    it('names each project once', async () => {
      await manyRuns({ store, runs: 300, until: t0 })
      const paths = await store.views.projects(100)
      expect(paths).toHaveLength(20)
      expect(paths).toEqual([...new Set(paths)].sort())
      expect(await store.views.projects(3)).toEqual(paths.slice(0, 3))
    })

    it.runIf(isThorough)('continues a search where it was cut short', async () => {
      await manyRuns({ store, runs: 5_600, until: t0, every: 1_000, exportQueues: [] })
      const oldest = { text: '1003', limit: 5 }
      const first = await store.views.search(oldest)
      expect(first).toMatchObject({ runs: [], searchedBackTo: t0 - 4_999_000 })
      const second = await store.views.search({ ...oldest, after: first.next })
      expect([ids(second), second.next]).toEqual([[1003], undefined])
      const job = await store.views.search({ job: 'nobody has this', limit: 5 })
      expect([job.runs, job.next?.createdAt]).toEqual([[], job.searchedBackTo])
      expect(job.searchedBackTo).toBeLessThan(t0)
    })

    it('adds up every snapshot once by hour and day, in any order', async () => {
      const failing = [job(1, 'e2e', 'failed', { started: 0, finished: 100 }, { queuedDuration: 4 })]
      await observe(1, 'failed', { created: 0, finished: 100 }, { queuedDuration: 2 }, failing)
      await takeSnapshot(1)
      here.move(100_000)
      expect(await store.views.trends.takeIn(10)).toBe(1)
      const retried = [...failing, job(2, 'e2e', 'success', { started: 200, finished: 300 })]
      await observe(1, 'success', { created: 0, finished: 300 }, {}, retried)
      await takeSnapshot(1)
      here.move(100_000)
      expect(await store.views.trends.takeIn(10)).toBe(1)
      expect(await store.views.trends.takeIn(10)).toBe(0)
      const query = { step: hour, since: t0 - day, until: t0 + day } as const
      const [all] = await store.views.trends.series({}, query)
      expect(all).toMatchObject({ runs: 2, failed: 1, bucket: t0 - (t0 % hour), totalMs: 200_000 })
      expect(Object.entries(all!.durations).map(([bin, count]) => [count, within(middleOf(bin), 100_000)])).toEqual([
        [2, true],
      ])
      const [e2e] = await store.views.trends.jobs('flakiest', { ...query, step: day }, 5)
      expect(e2e).toMatchObject({ job: 'e2e', project: 'acme/shop', runs: 2, failed: 1, flaky: 1, totalMs: 200_000 })
      expect(Object.keys(e2e!.queues).map(bin => within(middleOf(bin), 4_000))).toEqual([true])
      expect(await store.views.trends.projects('runs', query, 5)).toMatchObject([{ projectId: 3, runs: 2 }])
      const places = await store.views.trends.places({ ...query, group: 'acme/' }, 5)
      expect(places).toMatchObject([{ project: 'acme/shop', runs: 2 }])
      expect(await store.views.trends.places({ ...query, group: 'acme/shop/' }, 5)).toEqual([])
      const ofGroup = await store.views.trends.series({}, { ...query, group: 'acme/' })
      expect(ofGroup.reduce((sum, { runs }) => sum + runs, 0)).toBe(2)
      expect(await store.views.trends.series({}, { ...query, group: 'other/' })).toEqual([])
      const several = { ...query, group: new Set(['acme/other', 'acme/shop', 'acme/web']) }
      expect(await store.views.trends.places(several, 5)).toEqual(places)
      expect(await store.views.trends.paths(5)).toEqual(['acme/shop'])
      expect(await store.views.trends.series({}, several)).toEqual(ofGroup)
      expect(await store.views.trends.series({}, { ...query, group: new Set() })).toEqual([])
      expect(await store.views.trends.jobs('slowest', { ...query, projectId: 4 }, 5)).toEqual([])
    })

    it('adds up runner time, cost and waste by day', async () => {
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
      while ((await store.views.trends.takeIn(10)) > 0);
      const again = [...failing, job(9, 'e2e', 'success', { started: 200, finished: 320 }, large)]
      await observe(1, 'success', { created: 0, finished: 320 }, { ref: 'main' }, again)
      await takeSnapshot(1, rateOf)
      here.move(100_000)
      while ((await store.views.trends.takeIn(10)) > 0);
      const query = { since: t0 - day, until: t0 + day }
      const none = { totalMs: 0, cost: 0 }
      const [total] = await store.views.costs.lines('total', query, 1)
      expect(total).toEqual({
        ...{ project: '', name: '', projectId: undefined, bucket: undefined },
        ...{ runs: 5, totalMs: 255_000, cost: 18 },
        // The reruns that passed are not wasted.
        wasted: { retried: { totalMs: 15_000, cost: 0 }, superseded: none, failed: { totalMs: 60_000, cost: 6 } },
      })
      const shown = async (by: CostGroup, projectId?: number): Promise<unknown[]> =>
        (await store.views.costs.lines(by, { ...query, projectId }, 10)).map(line => [
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
        expect(await store.views.costs.lines('total', { ...query, group }, 1)).toHaveLength(lines)
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
      const exact = await store.views.costs.retained({ ...query, limit: 10 })
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
      await store.views.trends.prune(400 * day)
      expect(await shown('total')).toEqual([])
      const stored = await store.views.costs.retained({ ...query, limit: 10 })
      expect([stored.pipelines, stored.storedSince]).toEqual([1, t0])
    })

    it('adds up the same if another process has written before', async () => {
      const failing = [job(1, 'e2e', 'failed', { started: 0, finished: 100 })]
      await observe(1, 'failed', { created: 0, finished: 100 }, {}, failing)
      await observe(2, 'success', { created: 0, finished: 50 }, {}, [
        job(5, 'e2e', 'success', { started: 0, finished: 50 }),
      ])
      await takeSnapshot(1)
      await takeSnapshot(2)
      here.move(100_000)
      const { trends } = store.views
      const query = { step: hour, since: t0 - day, until: t0 + day } as const
      expect(await trends.series({}, query)).toEqual([])
      const other = await here.open()
      expect(await other.views.trends.takeIn(10)).toBe(2)
      await other.close()
      await observe(1, 'success', { created: 0, finished: 300 }, {}, [
        ...failing,
        job(2, 'e2e', 'success', { started: 200, finished: 300 }),
      ])
      await takeSnapshot(1)
      here.move(100_000)
      expect(await trends.takeIn(10)).toBe(1)
      expect(await trends.takeIn(10)).toBe(0)
      expect(await trends.series({}, query)).toMatchObject([{ runs: 3, failed: 1 }])
      expect(await trends.jobs('flakiest', { ...query, step: day }, 5)).toMatchObject([
        { job: 'e2e', runs: 3, failed: 1, flaky: 1 },
      ])
    })

    it.runIf(isThorough)(
      'adds up a pipeline of thousands of jobs in steps, with the figures of a few in memory',
      async () => {
        const count = 5_000
        const jobs = Array.from({ length: count }, (_, at) =>
          job(at + 1, `job ${at}`, 'success', { started: 0, finished: 50 }),
        )
        await observe(1, 'success', { created: 0, finished: 60 }, {}, jobs)
        await takeSnapshot(1)
        here.move(100_000)
        const { trends } = store.views
        // No step takes all of it.
        const steps: number[] = []
        for (let taken = await trends.takeIn(50); taken > 0; taken = await trends.takeIn(50)) steps.push(taken)
        expect(Math.max(...steps)).toBeLessThanOrEqual(4)
        expect(steps.length).toBeGreaterThan(2)
        const query = { step: hour, since: t0 - day, until: t0 + day } as const
        expect(await trends.series({}, query)).toMatchObject([{ runs: 1 }])
        for (const at of [0, count / 2, count - 1]) {
          expect(await trends.series({ projectId: 3, job: `job ${at}` }, query)).toMatchObject([{ runs: 1, failed: 0 }])
        }
      },
    )

    it('adds up once what two processes read at the same time', async () => {
      for (const id of [1, 2, 3]) {
        await observe(id, 'success', { created: 0, finished: 100 }, {}, [
          job(id, 'unit', 'success', { started: 0, finished: 100 }),
        ])
        await takeSnapshot(id)
      }
      here.move(100_000)
      const other = await here.open()
      const taken = await Promise.all([store, other].map(async ({ views }) => views.trends.takeIn(10)))
      expect(Math.max(...taken)).toBeGreaterThan(0)
      for (const { views } of [store, other]) while ((await views.trends.takeIn(10)) > 0);
      await other.close()
      const query = { step: hour, since: t0 - day, until: t0 + day } as const
      expect(await store.views.trends.series({}, query)).toMatchObject([{ runs: 3 }])
      expect(await store.views.costs.lines('total', query, 1)).toMatchObject([{ runs: 3 }])
    })

    it('adds up once what two turns of a process read at the same time', async () => {
      for (const id of [1, 2, 3]) {
        await observe(id, 'success', { created: 0, finished: 100 })
        await takeSnapshot(id)
      }
      const { trends } = store.views
      await Promise.all([trends.takeIn(1), trends.takeIn(10)])
      while ((await trends.takeIn(10)) > 0);
      const query = { step: hour, since: t0 - day, until: t0 + day } as const
      expect(await trends.series({}, query)).toMatchObject([{ runs: 3 }])
    })

    it('keeps pipelines apart by the class of their branch, by their source and by their name', async () => {
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
      const { trends } = store.views
      while ((await trends.takeIn(10)) > 0);
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
      // What changes from run to run is no name of its own.
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

    it('counts the stored runs of an exact branch, and of a runner, as the sums over time would', async () => {
      await manyRuns({ store, runs: 300, until: t0, every: 60_000, exportQueues: [] })
      const { trends } = store.views
      here.move(100_000)
      while ((await trends.takeIn(100)) > 0);
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
      expect(counted).toBe(
        (await store.views.search({ ref: 'main', project: 'acme/shop/api', limit: 300 })).runs.length,
      )
      expect(counted).toBeGreaterThan(0)
      expect(await (await trends.retained({ ...query, runner: 'nobody' })).figures.series({}, query)).toEqual([])
    })

    it('adds up the cost of exact branches and runners over the stored runs like the daily sums, with their count', async () => {
      await manyRuns({ store, runs: 80, until: t0, every: 900_000, exportQueues: [] })
      here.move(100_000)
      while ((await store.views.trends.takeIn(100)) > 0);
      const { costs } = store.views
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
      // Trends count the same jobs of a runner.
      const [runner] = (await costs.retained(query)).runners
      const counted = await store.views.trends.retained({ ...query, step: day, runner: runner!.name })
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

    it('removes hourly figures after some days, and keeps daily ones', async () => {
      await observe(1, 'success', { created: 0, finished: 100 })
      await takeSnapshot(1)
      here.move(100_000)
      await store.views.trends.takeIn(10)
      here.move(5 * day)
      expect(await store.views.trends.prune(400 * day)).toBe(2)
      const query = { since: t0 - day, until: t0 + day }
      expect(await store.views.trends.series({}, { ...query, step: hour })).toEqual([])
      expect(await store.views.trends.series({}, { ...query, step: day })).toMatchObject([{ runs: 1 }])
      // For as long as is wanted.
      expect(await store.views.trends.prune(6 * day)).toBe(0)
      here.move(2 * day)
      expect(await store.views.trends.prune(6 * day)).toBe(2)
      expect(await store.views.trends.series({}, { ...query, step: day })).toEqual([])
    })
  })
}

function within(found: number, right: number): boolean {
  return Math.abs(found - right) <= right * 0.05
}
