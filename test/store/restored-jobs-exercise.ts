// What every store promises of jobs that only a chunk has, as one function: run against each database.
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { mergeObservations } from '../../src/processing/merge-observations.ts'
import { at, day, event, everything, instance, job, jobEvent, minute, rules, snapshotterWith } from '../flow/world.ts'
import { canonical } from '../../src/model/versioned.ts'
import { type Snapshotter } from '../../src/processing/take-snapshots.ts'
import { createSelection } from '../../src/processing/selection.ts'
import { observation } from '../model/arbitraries.ts'
import { readTombstone, tombstoneText } from '../../src/store/sql/tombstone-text.ts'
import { remember, rememberedJob, revive } from '../../src/model/tombstone.ts'
import { deliver } from '../support/of-run.ts'
import type { Bench } from './benches.ts'
import type { Observation } from '../../src/model/observation.ts'
import type { Run } from '../../src/model/run.ts'
import type { RunWork, StoredRun } from '../../src/store/ports/runs.ts'
import type { Store } from '../../src/store/ports/store.ts'
import { runs } from '../full.ts'

const key = { instance, pipelineId: 7 }
const atOnce = { ...rules, settle: 0, deadline: 0 }

function snapshotterFor(selection = everything): Snapshotter {
  return snapshotterWith({ rules: atOnce, selection })
}

const exportsAll = snapshotterFor()
/** Takes the snapshot too, with nothing pending for it. */
const exportsNothing = snapshotterFor(createSelection({ projects: {}, refs: { exclude: ['**'] }, sources: {} }))

/** A pipeline that has ended, as one webhook reports it. */
const end = observation.map((one): Observation => ({
  ...one,
  origin: 'webhook',
  pipeline: { facts: { status: 'success', ref: 'main' }, times: { createdAt: at(0), finishedAt: at(60) } },
  jobs: one.jobs.map(({ id, facts }) => ({
    id,
    facts: { ...facts, status: 'success', failureReason: undefined },
    times: { createdAt: at(0), startedAt: at(id), finishedAt: at(id + 50) },
  })),
}))

/** One thing that happens to a run. */
interface Step {
  readonly observations: readonly Observation[]
  /** Whether its snapshot is taken in the transaction that merges it, in one of its own, or not. */
  readonly snapshot: 'with it' | 'after it' | 'not'
  readonly isWanted: boolean
  /** So long that nothing of it is still in memory. */
  readonly isLater: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  observations: fc.array(fc.oneof(observation, end), { minLength: 1, maxLength: 2 }),
  snapshot: fc.constantFrom('with it', 'after it', 'not'),
  isWanted: fc.constantFrom(true, true, true, false),
  isLater: fc.boolean(),
})

function works(pipelineId: number, { observations, snapshot, isWanted }: Step): RunWork[] {
  const own = { instance, pipelineId }
  const by = isWanted ? exportsAll : exportsNothing
  const merged = mergeObservations(
    observations.map(one => ({ ...one, key: own })),
    'webhook',
    atOnce,
  )
  if (snapshot === 'with it') return merged.map(work => by.atOnce(work, []))
  if (snapshot === 'not') return merged
  const decide: RunWork['decide'] = known => {
    const decision = known && by.decide(known, { chain: [], newer: [] }, at(0) + 30 * day)
    return decision && 'change' in decision ? decision.change : undefined
  }
  return [...merged, { key: own, jobs: 'all', decide }]
}

/** The run as it is when nothing has to be stored. */
function follow(known: StoredRun | undefined, work: readonly RunWork[], now: number): StoredRun | undefined {
  return work.reduce((before, { decide }) => {
    const change = decide(before, now)
    if (change === undefined) return before
    const jobs = new Map([...(before?.run.jobs ?? []), ...change.jobs.map(one => [one.id, one] as const)])
    return { run: { ...change.run, jobs }, timing: change.timing, firstSeenBy: {} }
  }, known)
}

function written(run: Run | undefined): string {
  return canonical(run && { ...run, jobs: [...run.jobs.values()].sort((a, b) => a.id - b.id) })
}

export function restoredJobsExercise(name: string, bench: () => Promise<Bench>): void {
  describe(`jobs that exist only in a chunk, on ${name}`, () => {
    let here: Bench
    let store: Store
    beforeEach(async () => {
      here = closeAfterTest(await bench())
      store = await here.open()
    })

    const observe = async (one: Observation): Promise<void> =>
      store.runs.transact(mergeObservations([one], 'webhook', atOnce).map(work => exportsAll.atOnce(work, [])))
    /** Lets it happen one by one; what the run is afterwards when nothing has to be stored. `look`: after each. */
    const happen = async (
      pipelineId: number,
      steps: readonly Step[],
      look?: (expected: StoredRun | undefined) => Promise<void>,
    ): Promise<StoredRun | undefined> => {
      let expected: StoredRun | undefined
      for (const one of steps) {
        const work = works(pipelineId, one)
        expected = follow(expected, work, here.now())
        for (const item of work) await store.runs.transact([item])
        if (one.isLater) here.move(2 * minute)
        await look?.(expected)
      }
      return expected
    }
    const rows = async (): Promise<number> => {
      const table = (await store.tables.list()).find(one => one.name === 'jobs')
      return store.tables.count(table!)
    }
    const build = job(1, 'build', 'success', { started: 5, finished: 50 }, { runner: { id: 3, tags: ['linux'] } })
    const test = job(2, 'test', 'failed', { started: 50, finished: 55 }, { failureReason: 'script_failure' })
    const finished = event('failed', { finishedAt: at(60) }, [build, test])

    it('are the same as stored rows after any observations and snapshots of the run in any order', async () => {
      let pipelineId = 100
      let known = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async steps => {
          pipelineId += 1
          const expected = await happen(pipelineId, steps, async so => {
            expect(written((await store.runs.get({ instance, pipelineId }))?.run)).toBe(written(so?.run))
          })
          known += expected?.run.jobs.size ?? 0
        }),
        runs(80),
      )
      // How many of them need none depends on the examples; the next test names one that does not.
      expect(await rows()).toBeLessThanOrEqual(known)
    })

    it('leave the same tombstone as stored rows', async () => {
      let pipelineId = 10_000
      let tombstones = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async steps => {
          pipelineId += 1
          const expected = await happen(pipelineId, steps)
          await deliver(store)
          here.move(1)
          await store.pruning.runs(here.now(), 1_000, undefined)
          let left: StoredRun | undefined
          const own = { instance, pipelineId }
          await store.runs.transact([{ key: own, jobs: 'all', decide: known => ((left = known), undefined) }])
          // Not pruned: something of it is still due.
          if (left?.run.project.version !== '') return
          tombstones += 1
          const { run } = expected!
          const tombstone = remember(run, [...run.jobs.values()].map(rememberedJob))!
          expect(written(left.run)).toBe(
            written(revive(readTombstone(own, run.project.facts.id, tombstoneText(tombstone)))),
          )
        }),
        runs(80),
      )
      expect(tombstones).toBeGreaterThan(0)
    })

    it('have no row if their snapshot was taken when they were observed', async () => {
      await observe(finished)
      expect(await rows()).toBe(0)
      const { run } = (await store.runs.get(key))!
      expect([...run.jobs.values()].map(({ id, snapshot }) => [id, snapshot?.attempt, snapshot?.spans])).toEqual([
        [1, 1, 1],
        [2, 1, 1],
      ])
      expect((await store.runs.ancestor(key, 2))?.trigger).toEqual(run.jobs.get(2))
    })

    it('are shown on the pages like others', async () => {
      await observe(finished)
      here.move(2 * minute)
      const stored = await store.runs.get(key)
      expect(await store.views.find(3, 7, instance)).toEqual(stored)
      expect((await store.views.search({ limit: 10 })).runs).toEqual([stored])
    })

    it('get a row when more is observed, without another snapshot', async () => {
      await observe(finished)
      here.move(2 * minute)
      const coverage = job(1, 'build', 'success', { started: 5, finished: 50 }, { coverage: 81.5 })
      await observe(jobEvent(coverage))
      expect(await rows()).toBe(1)
      const { run } = (await store.runs.get(key))!
      expect(run.jobs.get(1)).toMatchObject({ record: { facts: { coverage: 81.5, runnerTags: { tags: ['linux'] } } } })
      expect(run.jobs.get(1)?.snapshot?.spans).toBe(1)
      expect(await store.views.chunks(key)).toHaveLength(1)
    })

    it('are in the tombstone of their run, so that observing them again causes no export', async () => {
      await observe(finished)
      const exportQueue = { destination: 'default', signal: 'traces' as const }
      await deliver(store, exportQueue)
      here.move(day)
      expect(await store.pruning.runs(here.now(), 10, undefined)).toMatchObject({ pruned: 1, remembered: 1 })
      await observe(finished)
      expect(await store.views.chunks(key)).toEqual([])
      expect([...(await store.runs.get(key))!.run.jobs.values()].map(({ snapshot }) => snapshot?.spans)).toEqual([1, 1])
    })
  })
}
