// Tests the effects of taking a snapshot that is not exported: its step is counted, and the run is marked as not exported.
import { expect, it } from 'vitest'
import { createSelection } from '../../../src/core/take-in/selection.ts'
import { observedRun } from '../../../src/model/run.ts'
import { event, job, rules, t0, snapshotterWith } from '../../flow/world.ts'
import type { SnapshotterOptions } from '../../../src/core/settle/take-snapshots.ts'

const finished = event('success', { finishedAt: t0 + 60_000 }, [
  job(70, 'build', 'success', { started: 5, finished: 50 }),
])
const traces = { destination: 'default', signal: 'traces' } as const

/** Takes the snapshot of a finished pipeline. Returns the counters, and how many chunks became pending. */
function take(options: Partial<SnapshotterOptions>) {
  const snapshotter = snapshotterWith(options)
  const known = { run: observedRun(finished), timing: { changedAt: t0, endedAt: t0 }, firstSeenBy: {} }
  const decision = snapshotter.decide(known, { chain: [], newer: [] }, t0 + rules.settle)
  if ('unread' in decision) throw new Error('nothing needs to be read')
  snapshotter.committed(decision.did)
  return { counters: snapshotter.counters, pending: decision.change.pending?.length }
}

it('exports and counts the attempt of a finished pipeline', () => {
  const { counters, pending } = take({})
  expect(pending).toBe(1)
  expect(counters).toEqual({ attempts: 1, supplements: 0, blocked: 0, stale: 0, excluded: 0, unrouted: 0 })
})

it('counts an attempt whose branch is excluded, and exports nothing of it', () => {
  const { counters, pending } = take({
    selection: createSelection({ projects: {}, refs: { exclude: ['main'] }, sources: {} }),
  })
  expect(pending).toBe(0)
  expect(counters).toMatchObject({ attempts: 1, excluded: 1, unrouted: 0 })
})

it('counts an attempt that no destination accepts, and reports its project', () => {
  const unrouted: string[] = []
  const to = [{ ...traces, takes: () => false }]
  const { counters, pending } = take({ to, onUnrouted: path => unrouted.push(path) })
  expect(pending).toBe(0)
  expect(counters).toMatchObject({ attempts: 1, excluded: 0, unrouted: 1 })
  expect(unrouted).toEqual(['acme/shop'])
})

it('counts no unrouted attempt if exports are off, or if the totals of its project are exported', () => {
  expect(take({ to: [] }).counters.unrouted).toBe(0)
  const to = [{ ...traces, takes: () => false }]
  expect(take({ to, takesTotals: () => true }).counters.unrouted).toBe(0)
})
