// Tests the enrichment queue of a store, and how the store finds the pipeline or job that triggered a run. The tests run on both databases.
import { beforeEach, describe, expect, it } from 'vitest'
import { observedRun } from '../../../src/model/run.ts'
import { event, instance, job } from '../../flow/world.ts'
import { territoriesOf, type Territory } from '../../../src/model/territory.ts'
import type { EnrichmentChange, Which } from '../../../src/core/store/ports/enrichment-queue.ts'
import { opened, type Bench } from './benches.ts'
import type { ObservedJob } from '../../../src/model/observation.ts'
import type { RunWork } from '../../../src/core/store/ports/runs.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const minute = 60_000

export function enrichmentQueueExercise(name: string, bench: () => Promise<Bench>): void {
  describe(`the enrichment queue on ${name}`, () => {
    let here: Bench
    let store: Store

    beforeEach(async () => ({ here, store } = await opened(bench)))

    function queued(
      pipelineId: number,
      change: EnrichmentChange,
      { status = 'running', jobs = [], endedAt, enrichingUntil }: Reported = {},
    ): RunWork {
      const run = observedRun(event(status, {}, [...jobs], {}, pipelineId))
      return {
        key: { instance, pipelineId },
        jobs: [],
        decide: (_, now) => ({
          run,
          jobs: [...run.jobs.values()],
          timing: { changedAt: now, endedAt, enrichingUntil },
          enrichment: change,
        }),
      }
    }
    const ask = (at = here.now(), want: 'family' | 'state' | 'details' = 'details'): EnrichmentChange => {
      return { detail: want, priority: 'fresh', at }
    }
    const lease = async (limit = 10, holdMs = minute) =>
      (await store.enrichment.take('fresh', limit, holdMs)).map(({ key, detail }) => [key.pipelineId, detail])

    it('leases the run that has been due longest to one worker, and to the next worker if the first did not finish it', async () => {
      await store.runs.transact([queued(2, ask()), queued(1, ask(here.now() - 5)), queued(3, ask(here.now() + 5))])
      expect(await lease(1)).toEqual([[1, 'details']])
      expect(await lease()).toEqual([[2, 'details']])
      expect(await lease()).toEqual([])
      here.move(minute)
      expect((await lease()).sort()).toEqual([
        [1, 'details'],
        [2, 'details'],
        [3, 'details'],
      ])
    })

    it('merges two requests for a run: the higher detail level and the earlier time win', async () => {
      await store.runs.transact([queued(1, ask(here.now() + minute, 'details'))])
      await store.runs.transact([queued(1, ask(here.now(), 'state'))])
      expect(await lease()).toEqual([[1, 'details']])
    })

    it('removes a finished entry from the enrichment queue unless it was requested again in the meantime', async () => {
      await store.runs.transact([queued(1, ask()), queued(2, ask())])
      await lease()
      await store.runs.transact([queued(2, ask())])
      await store.enrichment.extend(
        [
          { instance, pipelineId: 1 },
          { instance, pipelineId: 2 },
        ],
        2 * minute,
      )
      await store.runs.transact([queued(1, { asked: true }), queued(2, { asked: true })])
      expect(await lease()).toEqual([[2, 'details']])
      expect(await store.enrichment.count('fresh')).toEqual({ due: 1, later: 0 })
    })

    it('keeps a finished entry in the enrichment queue if it requests another detail level at a later time', async () => {
      await store.runs.transact([queued(1, ask())])
      await lease()
      await store.runs.transact([queued(1, { asked: true, again: { detail: 'family', at: here.now() + 10 } })])
      expect(await store.enrichment.count('fresh')).toEqual({ due: 0, later: 1 })
      here.move(10)
      expect(await lease()).toEqual([[1, 'family']])
    })

    it('defers an entry that may not be requested yet, and reports when it was leased', async () => {
      const key = { instance, pipelineId: 1 }
      await store.runs.transact([queued(1, ask(here.now(), 'state'))])
      expect(await store.enrichment.take('fresh', 1, minute)).toMatchObject([
        { key, detail: 'state', takenAt: here.now() },
      ])
      await store.enrichment.defer(key, 10)
      expect(await store.enrichment.count('fresh')).toEqual({ due: 0, later: 1 })
      expect(await lease()).toEqual([])
      here.move(10)
      expect(await lease()).toEqual([[1, 'state']])
      // The entry is not deferred if it was requested again in the meantime.
      await store.runs.transact([queued(1, ask())])
      await store.enrichment.defer(key, minute)
      expect(await lease()).toEqual([[1, 'details']])
    })

    it('leases only the runs in the territory of certain tokens, or in the territory of all others, by instance and group', async () => {
      const inProject = (pipelineId: number, path: string | undefined, of = instance): RunWork => {
        const work = queued(pipelineId, ask())
        return {
          ...work,
          key: { instance: of, pipelineId },
          decide: (known, now) => {
            const change = work.decide(known, now)
            if (change === undefined) return undefined
            const { run } = change
            const facts = { id: 3, name: 'app', path }
            return {
              ...change,
              run: { ...run, key: { instance: of, pipelineId }, project: { ...run.project, facts } },
            }
          },
        }
      }
      const projects = ['team/app', 'team/sub/app', 'Team/x/y', 'other/app', undefined]
      await store.runs.transact(projects.map((path, index) => inProject(index + 1, path)))
      await store.runs.transact([inProject(6, 'team/app', 'https://other.example.com')])
      const [rest, team, sub] = territoriesOf(instance, [[], ['team'], ['team/sub']]) as [
        Territory,
        Territory,
        Territory,
      ]
      const taken = async (which: Which): Promise<number[]> => {
        const items = await store.enrichment.take('fresh', 10, minute, which)
        await store.enrichment.extend(
          items.map(({ key }) => key),
          0,
        )
        return items.map(({ key }) => key.pipelineId).sort()
      }
      expect(await taken({ only: [rest] })).toEqual([4, 5])
      expect(await taken({ only: [team] })).toEqual([1, 3])
      expect(await taken({ only: [team, sub] })).toEqual([1, 2, 3])
      expect(await taken({ except: [team] })).toEqual([2, 4, 5, 6])
      expect(await taken({ except: [rest, team, sub] })).toEqual([6])
      expect(await taken({ only: [] })).toEqual([])
      const items = await store.enrichment.take('fresh', 10, minute)
      expect(items.map(({ path }) => path).filter(path => path === undefined)).toHaveLength(1)
    })

    it('keeps silent runs in their own priority class until they end', async () => {
      const silent = async () => (await store.enrichment.take('silent', 10, minute)).map(({ key }) => key.pipelineId)
      await store.runs.transact([queued(1, { detail: 'state', priority: 'silent', at: here.now() }), queued(2, ask())])
      await store.runs.transact([queued(2, { detail: 'state', priority: 'silent', at: here.now() })])
      expect(await silent()).toEqual([1])
      await store.runs.transact([queued(1, ask())])
      expect((await lease()).sort()).toEqual([
        [1, 'details'],
        [2, 'details'],
      ])
      await store.runs.transact([
        queued(2, { asked: true, again: { detail: 'state', priority: 'silent', at: here.now() } }),
        queued(1, { asked: true, again: { detail: 'state', at: here.now() } }),
      ])
      expect(await silent()).toEqual([2])
      expect(await lease()).toEqual([[1, 'state']])
    })

    it('extends the enrichment deadlines of one priority class, up to a limit', async () => {
      const ended = { endedAt: here.now(), enrichingUntil: here.now() + 2 * minute }
      const past = (at: number): EnrichmentChange => ({ detail: 'state', priority: 'backfill', at })
      const due = [queued(1, past(here.now()), ended), queued(2, past(here.now() + minute), ended)]
      await store.runs.transact([...due, queued(3, ask(), ended)])
      await store.enrichment.postpone('backfill', 5_000, 15 * minute)
      await store.enrichment.postpone('backfill', 20 * minute, 15 * minute)
      const until = async (pipelineId: number) =>
        (await store.runs.get({ instance, pipelineId }))!.timing.enrichingUntil! - here.now()
      expect([await until(1), await until(2), await until(3)]).toEqual([15 * minute, 2 * minute, 2 * minute])
      await store.runs.transact([queued(4, past(here.now()), ended)])
      for (const group of ['acme', 'other']) {
        const only = { instance, parts: [{ group, except: [] }] }
        await store.enrichment.postpone('backfill', minute, 15 * minute, only)
      }
      expect(await until(4)).toBe(3 * minute)
    })

    it('finds the job that triggered a pipeline, whichever of the two was observed first', async () => {
      const bridge = job(21, 'deploy', 'running', {}, { kind: 'bridge', downstream: { pipelineId: 9, projectId: 3 } })
      await store.runs.transact([queued(9, ask()), queued(7, ask(), { jobs: [bridge] })])
      expect(await store.enrichment.triggerOf({ instance, pipelineId: 9 })).toEqual({
        pipelineId: 7,
        projectId: 3,
        jobId: 21,
      })
      expect(await store.enrichment.triggerOf({ instance, pipelineId: 7 })).toBeUndefined()
    })

    it('lists older active pipelines as possible parents, nearest first', async () => {
      await store.runs.transact([
        queued(1, ask()),
        queued(2, ask(), { status: 'success' }),
        queued(3, ask()),
        queued(9, ask()),
        queued(10, ask()),
      ])
      const found = await store.enrichment.candidates({ instance, pipelineId: 9 }, 3, 5)
      expect(found.map(({ key }) => key.pipelineId)).toEqual([3, 1])
      expect(await store.enrichment.candidates({ instance, pipelineId: 9 }, 4, 5)).toEqual([])
      expect(await store.enrichment.candidates({ instance, pipelineId: 9 }, undefined, 1)).toHaveLength(1)
    })
  })
}

interface Reported {
  readonly status?: string
  readonly jobs?: readonly ObservedJob[]
  readonly endedAt?: number
  readonly enrichingUntil?: number
}
