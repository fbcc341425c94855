// The retention of everything that the store keeps: how long, what may be deleted earlier, and how.
import { keyMemory } from '../ports/delivery-keys.ts'
import { testMemoryMs } from '../ports/test-memory.ts'
import type { Millis } from '../../../model/instant.ts'
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
  /** Its name in the counter of pruned rows. */
  readonly kind: string
  /** How long it is stored, ms. */
  readonly keep: number
  /** The age below which a row stays even if the store is nearly full, or practically full, ms. Undefined: no row is deleted early. */
  readonly spared?: Readonly<Record<Pressure, number>>
  /** `early`: the present, if rows may be deleted before the end of their retention. */
  sweep(early?: Millis): Sweep
}

const minute = 60_000
const day = 24 * 60 * minute
/** Pages show what was exported just now, unless webhooks would be refused. */
const shown = { nearlyFull: 10 * minute, full: 0 }
/** Most late reports arrive within a day: without the stored key they would be counted or exported again. */
const remembered = { nearlyFull: day, full: day }
/** The job of a deployment is not reported again, because the tombstone of its run remembers it. */
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
    // Dead letters first, because a run stays while it has one.
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
      // An event must be known while its delivery may be repeated.
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
