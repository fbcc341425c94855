// Tests how a store stores the document of a run, and the pages that contain its jobs. The tests run on both databases.
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { at, day, event, everything, instance, job, jobEvent, rules, snapshotterWith } from '../../flow/world.ts'
import { canonical } from '../../../src/model/versioned.ts'
import { type Snapshotter } from '../../../src/core/settle/take-snapshots.ts'
import { createSelection } from '../../../src/core/take-in/selection.ts'
import { observation } from '../../model/arbitraries.ts'
import { readTombstone, tombstoneText } from '../../../src/core/store/sql/tombstone-text.ts'
import { remember, revive } from '../../../src/model/tombstone.ts'
import { deliver } from '../../support/of-run.ts'
import { opened, type Bench } from './benches.ts'
import type { Cells } from '../../../src/core/store/sql/tables.ts'
import type { Observation } from '../../../src/model/observation.ts'
import type { Run } from '../../../src/model/run.ts'
import type { RunWork, StoredRun } from '../../../src/core/store/ports/runs.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'
import { runs } from '../../full.ts'

const key = { instance, pipelineId: 7 }
const atOnce = { ...rules, settle: 0, deadline: 0 }

function snapshotterFor(selection = everything): Snapshotter {
  return snapshotterWith({ rules: atOnce, selection })
}

const exportsAll = snapshotterFor()
/** Takes the snapshot like `exportsAll`, but adds nothing to the outbox. */
const exportsNothing = snapshotterFor(createSelection({ projects: {}, refs: { exclude: ['**'] }, sources: {} }))

/** A pipeline that has ended, as reported by a single webhook. */
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

/** One step in the life of a run. */
interface Step {
  readonly observations: readonly Observation[]
  /** Whether the run's snapshot is taken in the transaction that merges the observations, in its own transaction, or not at all. */
  readonly snapshot: 'with it' | 'after it' | 'not'
  readonly isWanted: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  observations: fc.array(fc.oneof(observation, end), { minLength: 1, maxLength: 2 }),
  snapshot: fc.constantFrom('with it', 'after it', 'not'),
  isWanted: fc.constantFrom(true, true, true, false),
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

/** Returns the run after the given work, computed in memory without a store. */
function follow(known: StoredRun | undefined, work: readonly RunWork[], now: number): StoredRun | undefined {
  return work.reduce<StoredRun | undefined>((before, { decide }) => {
    const change = decide(before, now)
    if (change === undefined) return before
    return { run: change.run, timing: change.timing, firstSeenBy: {} }
  }, known)
}

function written(run: Run | undefined): string {
  return canonical(run && { ...run, jobs: [...run.jobs.values()].sort((a, b) => a.id - b.id) })
}

export function storedRunsExercise(name: string, bench: () => Promise<Bench>): void {
  describe(`stored runs on ${name}`, () => {
    let here: Bench
    let store: Store
    beforeEach(async () => ({ here, store } = await opened(bench)))

    const observe = async (one: Observation): Promise<void> =>
      store.runs.transact(mergeObservations([one], 'webhook', atOnce).map(work => exportsAll.atOnce(work, [])))
    /** Applies the steps to the store one by one. Returns the expected run, computed in memory. `look` is called after each step. */
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
        await look?.(expected)
      }
      return expected
    }
    const pages = async (): Promise<readonly Cells[]> => {
      const table = (await store.tables.list()).find(one => one.name === 'job_pages')!
      return store.tables.read(table, undefined, 1_000)
    }
    const build = job(1, 'build', 'success', { started: 5, finished: 50 }, { runner: { id: 3, tags: ['linux'] } })
    const test = job(2, 'test', 'failed', { started: 50, finished: 55 }, { failureReason: 'script_failure' })

    it('reads runs back as they were written, after any observations and snapshots in any order', async () => {
      let pipelineId = 100
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async steps => {
          pipelineId += 1
          await happen(pipelineId, steps, async so => {
            expect(written((await store.runs.get({ instance, pipelineId }))?.run)).toBe(written(so?.run))
          })
        }),
        runs(80),
      )
    })

    it('leaves a complete tombstone for each pruned run', async () => {
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
          // The run was not pruned, because part of it is still due.
          if (left?.run.project.version !== '') return
          tombstones += 1
          const { run } = expected!
          const tombstone = remember(run)!
          expect(written(left.run)).toBe(
            written(revive(readTombstone(own, run.project.facts.id, tombstoneText(tombstone)))),
          )
        }),
        runs(80),
      )
      expect(tombstones).toBeGreaterThan(0)
    })

    it('reads runs with any number of jobs, in any order, back as they were written, as a whole or for one job', async () => {
      let pipelineId = 20_000
      const ids = fc.uniqueArray(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 130 })
      await fc.assert(
        fc.asyncProperty(fc.array(ids, { minLength: 1, maxLength: 4 }), async batches => {
          pipelineId += 1
          const own = { instance, pipelineId }
          for (const [index, batch] of batches.entries()) {
            const jobs = batch.map(id => job(id, `job ${id}`, 'running', { started: index }))
            await store.runs.transact(mergeObservations([event('running', {}, jobs, {}, pipelineId)], 'webhook', rules))
          }
          const { run } = (await store.runs.get(own))!
          const expected = new Map(batches.flatMap((batch, index) => batch.map(id => [id, at(index)])))
          expect(new Map([...run.jobs.values()].map(({ id, times }) => [id, times.startedAt]))).toEqual(expected)
          for (const id of batches.flat().slice(0, 5))
            expect((await store.runs.ancestor(own, id))?.trigger).toEqual(run.jobs.get(id))
          expect(written((await store.views.find(3, pipelineId, instance))?.run)).toBe(written(run))
        }),
        runs(30),
      )
    })

    it('writes only one page of a run with many jobs when one job changes', async () => {
      const many = Array.from({ length: 400 }, (_, index) => job(index + 1, `job ${index}`, 'running', { started: 5 }))
      await observe(event('running', {}, many))
      const before = await pages()
      expect(before.length).toBeGreaterThanOrEqual(8)
      await observe(jobEvent(job(222, 'job 221', 'success', { started: 5, finished: 50 })))
      const after = await pages()
      expect(after).toHaveLength(before.length)
      expect(after.filter((row, index) => JSON.stringify(row) !== JSON.stringify(before[index]))).toHaveLength(1)
      expect((await store.runs.get(key))?.run.jobs.get(222)?.record.facts.status).toBe('success')
    })

    it('applies several changes to a run within one transaction in order', async () => {
      const names: (string | undefined)[] = []
      const work = [build, test].map((one, index): RunWork => {
        const [merging] = mergeObservations([event('running', {}, [one])], 'webhook', rules)
        return {
          ...merging!,
          decide: (known, now) => (
            names.push(`${index} after ${known?.run.jobs.size ?? 0}`),
            merging!.decide(known, now)
          ),
        }
      })
      await store.runs.transact(work)
      expect(names.slice(-2)).toEqual(['0 after 0', '1 after 1'])
      expect([...(await store.runs.get(key))!.run.jobs.keys()]).toEqual([1, 2])
    })
  })
}
