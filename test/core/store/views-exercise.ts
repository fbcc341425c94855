// Tests what pages and programs read from a store. The tests run on both databases.
import { countFigures } from '../../support/counted-figures.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { at, event, instance, job, rules, t0 } from '../../flow/world.ts'
import { isFull } from '../../full.ts'
import { manyRuns } from './many-runs.ts'
import { snapshotWork } from './exported-run.ts'
import { opened, type Bench } from './benches.ts'
import type { ObservedJob, PipelineFacts } from '../../../src/model/observation.ts'
import type { RunPage, RunQuery } from '../../../src/core/store/ports/views.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

export function viewsExercise(name: string, bench: () => Promise<Bench>): void {
  /** In the short form, tests that need thousands of rows run on one database only. */
  const isThorough = isFull || name === 'SQLite'

  describe(`the views on ${name}`, () => {
    let store: Store

    beforeEach(async () => ({ store } = await opened(bench)))

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
    async function takeSnapshot(pipelineId: number): Promise<void> {
      await store.runs.transact([snapshotWork(pipelineId)])
    }
    const ids = ({ runs }: Pick<RunPage, 'runs'>): number[] => runs.map(({ run }) => run.key.pipelineId)
    const found = async (query: Partial<RunQuery>): Promise<number[]> =>
      ids(await store.views.search({ limit: 10, ...query }))

    it('lists runs newest first, one page at a time, each with its jobs', async () => {
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

    it('finds runs by status, ref, source, project, time and text, alone and combined', async () => {
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

    it('finds runs by criteria without an index, alone and combined with indexed criteria', async () => {
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

    it('finds runs by the exact name of a job, whether it is in a snapshot or still active', async () => {
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
        if (isCounted) await countFigures(store)
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

    it('lists the keys of all runs, most recently stored first', async () => {
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

    it('updates the listed run when its status, ref and finish change', async () => {
      await observe(1, 'running', { created: 1 })
      expect(ids({ runs: await store.views.inStatus(['running', 'pending'], 10) })).toEqual([1])
      expect(await store.views.countInStatus(['running', 'pending'])).toBe(1)
      const { changedAt } = (await store.views.inStatus(['running'], 1))[0]!.timing
      const silent = await store.views.silentInStatus(['running', 'pending'], changedAt + 1, 10)
      expect([ids(silent), silent.count]).toEqual([[1], 1])
      expect(await store.views.silentInStatus(['running'], changedAt, 10)).toEqual({ runs: [], count: 0 })
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

    it('finds a pipeline with its child pipelines and the state of its exports', async () => {
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

    it('finds other runs that took about as long as a given run, first those with its ref and source', async () => {
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

    it('lists each project once', async () => {
      await manyRuns({ store, runs: 300, until: t0 })
      const paths = await store.views.projects(100)
      expect(paths).toHaveLength(20)
      expect(paths).toEqual([...new Set(paths)].sort())
      expect(await store.views.projects(3)).toEqual(paths.slice(0, 3))
    })

    it.runIf(isThorough)('resumes a search where it was cut off', async () => {
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
  })
}
