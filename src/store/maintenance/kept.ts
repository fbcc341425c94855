// What the store keeps for a time: how long, what of it may go earlier, and how it is deleted.
import { keyMemory } from '../ports/inbox.ts'
import { testMemoryMs } from '../ports/test-memory.ts'
import type { Millis } from '../../model/instant.ts'
import type { RunCursor } from '../ports/pruning.ts'
import type { Steps, Sweep } from './steps.ts'
import type { Store } from '../ports/store.ts'

/** How long each is stored, ms. */
export interface KeepTimes {
  /** Exported runs, dead letters and quarantined deliveries. */
  readonly retention: number
  /** The tombstone of a pruned run. */
  readonly remember: number
  /** Trends, deployments, changes and incidents. */
  readonly keepFigures: number
}

export type KeptStore = Pick<Store, 'pruning' | 'tests' | 'deployments' | 'changes' | 'incidents'>

/** How full a store is that has to make room. */
export type Pressure = 'nearlyFull' | 'full'

export interface Kept {
  /** As the counter of what is pruned names it. */
  readonly kind: string
  /** How long it is stored, ms. */
  readonly keep: number
  /** What may not go earlier even if the store is nearly full, or as good as full: the age below which it stays, ms. Undefined: nothing goes early. */
  readonly spared?: Readonly<Record<Pressure, number>>
  /** `early`: the present, if it is to delete what may go before its time. */
  sweep(early?: Millis): Sweep
}

const minute = 60_000
const day = 24 * 60 * minute
/** Pages show what was exported just now, unless webhooks would be refused. */
const shown = { nearlyFull: 10 * minute, full: 0 }
/** Most late reports of a thing arrive within a day: without what is remembered of it, it would be counted or exported again. */
const remembered = { nearlyFull: day, full: day }
/** The job of a deployment is not reported again, as its run is remembered. */
const counted = { nearlyFull: day, full: 10 * minute }

export function keptInStore(store: KeptStore, times: KeepTimes, steps: Steps): readonly Kept[] {
  const { pruning, tests, deployments, changes, incidents } = store
  const { retention, remember, keepFigures } = times
  const sweepOf =
    (prune: (before: Millis, rows: number) => Promise<number>): Kept['sweep'] =>
    () =>
    async (before, isEnough) =>
      steps.repeat(async rows => prune(before, rows), isEnough)
  return [
    // Dead letters first, as a run stays as long as it has one.
    {
      ...{ kind: 'dead_letters', keep: retention, spared: remembered },
      sweep: sweepOf(async (before, rows) => pruning.deadLetters(before, rows)),
    },
    {
      ...{ kind: 'quarantined_deliveries', keep: retention, spared: remembered },
      sweep: sweepOf(async (before, rows) => pruning.quarantinedDeliveries(before, rows)),
    },
    {
      ...{ kind: 'runs', keep: retention, spared: shown },
      sweep: () => steps.onward<RunCursor>(async (before, rows, from) => pruning.runs(before, rows, from)),
    },
    {
      // As long as its delivery may be repeated, an event must be known.
      ...{ kind: 'events', keep: Math.max(retention, keyMemory), spared: { ...shown, full: shown.nearlyFull } },
      sweep: sweepOf(async (before, rows) => pruning.events(before, rows)),
    },
    {
      ...{ kind: 'test_reports', keep: testMemoryMs, spared: remembered },
      sweep: sweepOf(async (before, rows) => tests.prune(before, rows)),
    },
    {
      ...{ kind: 'deployments', keep: keepFigures, spared: counted },
      sweep: early =>
        early === undefined
          ? sweepOf(async (before, rows) => deployments.prune(before, rows))()
          : steps.onward<number>(async (before, rows, from) =>
              deployments.pruneEarly(before, rows, from, {
                lastSince: early - keepFigures,
                withoutJobSince: early - counted.nearlyFull,
              }),
            ),
    },
    {
      ...{ kind: 'tombstones', keep: remember, spared: remembered },
      sweep: sweepOf(async (before, rows) => pruning.tombstones(before, rows)),
    },
    { kind: 'delivery_keys', keep: keyMemory, sweep: sweepOf(async (before, rows) => pruning.keys(before, rows)) },
    { kind: 'changes', keep: keepFigures, sweep: sweepOf(async (before, rows) => changes.prune(before, rows)) },
    { kind: 'incidents', keep: keepFigures, sweep: sweepOf(async (before, rows) => incidents.prune(before, rows)) },
  ]
}
