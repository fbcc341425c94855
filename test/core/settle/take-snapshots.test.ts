// Tests snapshots that are not exported: they are counted, and the run is marked as not exported.
import { expect, it } from 'vitest'
import { createSelection } from '../../../src/core/take-in/selection.ts'
import { mergeRun, observedRun } from '../../../src/model/run.ts'
import { event, job, rules, t0, snapshotterWith } from '../../flow/world.ts'
import type { LineStep } from '../../../src/core/store/ports/reporter.ts'
import type { SnapshotterOptions } from '../../../src/core/settle/take-snapshots.ts'

const finished = event('success', { finishedAt: t0 + 60_000 }, [
  job(70, 'build', 'success', { started: 5, finished: 50 }),
])
const withoutMain = createSelection({ projects: {}, refs: { exclude: ['main'] }, sources: {} })
const withoutAcme = createSelection({ projects: { exclude: ['acme/*'] }, refs: {}, sources: {} })
const traces = { destination: 'default', signal: 'traces' } as const

/**
 * Takes the snapshot of a run, by default of a finished pipeline. Returns the counters, how many chunks became pending, the run, and for each of its
 * attempts whether it is marked as exported.
 */
function take(options: Partial<SnapshotterOptions>, run = observedRun(finished)) {
  const snapshotter = snapshotterWith(options)
  const known = { run, timing: { changedAt: t0, endedAt: t0 }, firstSeenBy: {} }
  const decision = snapshotter.decide(known, { chain: [], newer: [] }, t0 + rules.settle)
  if ('unread' in decision) throw new Error('nothing needs to be read')
  snapshotter.committed(decision.did)
  const { change } = decision
  const exported = change.run.attempts.map(one => one.exported !== undefined)
  return { counters: snapshotter.counters, pending: change.pending?.length, run: change.run, exported }
}

it('exports and counts the attempt of a finished pipeline', () => {
  const { counters, pending, exported } = take({})
  expect([pending, exported]).toEqual([1, [true]])
  expect(counters).toEqual({ attempts: 1, supplements: 0, blocked: 0, stale: 0, excluded: 0, unrouted: 0 })
})

it.each([
  ['branch is excluded', withoutMain],
  ['project is excluded, which its first job event may not have shown', withoutAcme],
])('counts an attempt whose %s, and exports nothing of it', (_what, selection) => {
  const { counters, pending, exported } = take({ selection })
  expect([pending, exported]).toEqual([0, [false]])
  expect(counters).toMatchObject({ attempts: 1, excluded: 1, unrouted: 0 })
})

it.each([
  ['whose branch was excluded since', { selection: withoutMain }],
  ['that no destination accepts any more', { to: [{ ...traces, takes: () => false }] }],
])('leaves an attempt %s marked as exported, although it exports no late job of it', (_why, options) => {
  const { run } = take({})
  const late = event('success', { finishedAt: t0 + 60_000 }, [job(71, 'test', 'success', { started: 5, finished: 40 })])
  const { counters, pending, exported } = take(options, mergeRun(run, observedRun(late)))
  expect(counters).toMatchObject({ attempts: 0, supplements: 1 })
  expect([pending, exported]).toEqual([0, [true]])
})

it('counts an attempt that no destination accepts, and reports its project', () => {
  const unrouted: string[] = []
  const to = [{ ...traces, takes: () => false }]
  const { counters, pending, exported } = take({ to, onUnrouted: path => unrouted.push(path) })
  expect([pending, exported]).toEqual([0, [false]])
  expect(counters).toMatchObject({ attempts: 1, excluded: 0, unrouted: 1 })
  expect(unrouted).toEqual(['acme/shop'])
})

it('counts no unrouted attempt if exports are off', () => {
  const { counters, exported } = take({ to: [] })
  expect([counters.unrouted, exported]).toEqual([0, [false]])
})

it.each([
  ['no other signals', []],
  ['other signals of other projects', [{ ...traces, takes: () => false }]],
])('exports an attempt whose destination takes totals and %s', (_why, to) => {
  const told: boolean[] = []
  const onSnapshot: LineStep['onSnapshot'] = (_, { isSent }) => {
    told.push(isSent)
    return []
  }
  const { counters, pending, exported } = take({ to, takesTotals: () => true, steps: [{ onSnapshot }] })
  expect([counters.unrouted, pending, exported, told]).toEqual([0, 0, [true], [true]])
})
