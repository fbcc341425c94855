// Who has which row at the moment: deliveries that are read, exports that are on their way. One process alone serves an SQLite
// file, so this is known in memory: written into the rows it would write every body a second time, and be a commit on the way
// of each pipeline. A process that dies gives back what it had by dying.

export interface Leases {
  /** When it is free again, or was; 0 when nobody has had it. */
  heldUntil(id: number): number
  hold(id: number, token: string, until: number): void
  /** True while nobody else has taken it since, even when its time is over. */
  isHeldBy(id: number, token: string): boolean
  /** Nobody needs it any more: it was processed, or what became of it is settled. */
  forget(id: number): void
  /** How many are held or were, and not forgotten. */
  readonly size: number
}

export function createLeases(): Leases {
  const held = new Map<number, { readonly token: string; readonly until: number }>()
  return {
    heldUntil: id => held.get(id)?.until ?? 0,
    hold: (id, token, until) => {
      held.set(id, { token, until })
    },
    isHeldBy: (id, token) => held.get(id)?.token === token,
    forget: id => {
      held.delete(id)
    },
    get size() {
      return held.size
    },
  }
}
