// Makes room in a nearly full store, so that it need not refuse deliveries: rows that are nearest to the end of their retention are deleted first.
import type { Kept } from './kept.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Sweep } from './steps.ts'

export interface Relief {
  /** How much of the store's limit is in use: at 1 webhooks are refused. */
  readonly fullness: () => Promise<number>
  readonly kept: readonly Kept[]
  readonly now: Millis
}

/** It begins when the store is 90 % full, and ends when it is 80 % full. At 97 % the store is practically full: webhooks will soon be refused. */
const pressure = { from: 0.9, to: 0.8, full: 0.97 }
/** From then on the size is checked often. */
const filling = 0.85
/** Each round multiplies all retention times of the previous round by this. */
const shorter = 0.8

/** `fullness`: the share of the limit that is in use. */
export function pressureOf(fullness: number): 'none' | 'filling' | 'nearly full' {
  return fullness < filling ? 'none' : fullness < pressure.from ? 'filling' : 'nearly full'
}

/** Returns how many rows were deleted early, by kind. */
export async function relieve({ fullness, kept, now }: Relief): Promise<ReadonlyMap<string, number>> {
  const early = new Map<string, number>()
  const hasRoom = async (): Promise<boolean> => (await fullness()) < pressure.to
  const kinds = kept.flatMap(({ spared, ...one }) => (spared === undefined ? [] : { ...one, spared }))
  /** True if there is room now. */
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
  // For example after an outage of the backend, when everything was delivered just now.
  for (const one of kinds.toSorted((a, b) => b.spared.full - a.spared.full)) {
    if ((await fullness()) < pressure.full) break
    if (await prune(one.kind, one.sweep(now), now - one.spared.full)) break
  }
  return early
}
