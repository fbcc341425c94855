// How full the store is. A nearly full store deletes rows before the end of their retention, so that it need not reject deliveries; rows that are
// nearest to the end of their retention are deleted first. A full store accepts no deliveries.
import type { Kept, Sweep } from './steps.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Store } from '../ports/store.ts'
import { StoreError } from '../../../lib/fault.ts'

interface Relief {
  /** Returns the used share of the store's size limit. At 1, webhooks are rejected. */
  readonly fullness: () => Promise<number>
  readonly kept: readonly Kept[]
  readonly now: Millis
}

/**
 * The fullness of the store at which early deletion starts (90 %) and ends (80 %). At 97 % the store is practically full, and webhooks will soon be
 * rejected.
 */
const pressure = { from: 0.9, to: 0.8, full: 0.97 }
/** The fullness above which the size of the store is checked often. */
const filling = 0.85
/** The factor by which each round of early deletion shortens the retention times used in the previous round. */
const shorter = 0.8

/** Classifies how full the store is. `fullness` is the used share of the size limit. */
export function pressureOf(fullness: number): 'none' | 'filling' | 'nearly full' {
  return fullness < filling ? 'none' : fullness < pressure.from ? 'filling' : 'nearly full'
}

/** Deletes rows before the end of their retention. Returns the number of deleted rows, by kind. */
export async function relieve({ fullness, kept, now }: Relief): Promise<ReadonlyMap<string, number>> {
  const early = new Map<string, number>()
  const hasRoom = async (): Promise<boolean> => (await fullness()) < pressure.to
  const kinds = kept.flatMap(({ spared, ...one }) => (spared === undefined ? [] : { ...one, spared }))
  /** Deletes rows of one kind. Returns true if there is enough space afterwards. */
  const prune = async (kind: string, sweep: Sweep, before: Millis): Promise<boolean> => {
    const pruned = await sweep(before, hasRoom)
    if (pruned > 0) early.set(kind, (early.get(kind) ?? 0) + pruned)
    return pruned > 0 && hasRoom()
  }
  const inTurn = kinds.map(one => ({ ...one, sweep: one.sweep(now) }))
  let isShortest = false
  for (let share = shorter; !isShortest; share *= shorter) {
    isShortest = kinds.every(({ keep, spared }) => keep * share <= spared.nearlyFull)
    for (const { kind, keep, spared, sweep } of inTurn)
      if (await prune(kind, sweep, now - Math.max(Math.round(keep * share), spared.nearlyFull))) return early
  }
  // Shorter retention times may not free enough space, for example after a backend outage, when all rows have just been exported.
  for (const one of kinds.toSorted((a, b) => b.spared.full - a.spared.full)) {
    if ((await fullness()) < pressure.full) break
    if (await prune(one.kind, one.sweep(now), now - one.spared.full)) break
  }
  return early
}

/** Throws StoreError if the store cannot write, or has reached its size limit. */
export async function proveRoom({ proveWritable, pruning }: Pick<Store, 'proveWritable' | 'pruning'>): Promise<void> {
  await proveWritable()
  if ((await pruning.fullness()) >= 1) throw limitReached()
}

function limitReached(): StoreError {
  return new StoreError(
    'The store has reached PIPESPAN_STORE_MAX_SIZE.',
    'Raise it, or shorten PIPESPAN_RETENTION: until there is room, webhooks are refused.',
  )
}
