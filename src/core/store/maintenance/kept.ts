// The retention of everything that the store keeps: how long, what may be deleted earlier, and how.
import { keyMemory } from '../ports/delivery-keys.ts'
import type { Kept, KeepTimes } from '../ports/kept.ts'
import type { Millis } from '../../../model/instant.ts'
import type { RunCursor } from '../ports/pruning.ts'
import type { Steps } from './steps.ts'
import type { Store } from '../ports/store.ts'

export type KeptStore = Pick<Store, 'pruning' | 'on' | 'parts'>

const minute = 60_000
const day = 24 * 60 * minute
/** Pages show what was exported just now, unless webhooks would be refused. */
const shown = { nearlyFull: 10 * minute, full: 0 }
/** Most late reports arrive within a day: without the stored key they would be counted or exported again. */
const remembered = { nearlyFull: day, full: day }
export function keptInStore(store: KeptStore, times: KeepTimes, steps: Steps): readonly Kept[] {
  const { pruning } = store
  const { retention, remember } = times
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
    ...store.parts.flatMap(({ kept }) => kept?.(store.on, times, steps) ?? []),
    {
      ...{ kind: 'tombstones', keep: remember, spared: remembered },
      sweep: sweepOf(async (before, rows) => pruning.tombstones(before, rows)),
    },
    { kind: 'delivery_keys', keep: keyMemory, sweep: sweepOf(async (before, rows) => pruning.keys(before, rows)) },
  ]
}
