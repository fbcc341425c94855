// Who reads which delivery at the moment. One process alone reads an SQLite inbox, so its leases are kept in memory: writing
// them into the rows would write every body a second time, and a process that dies gives them back by dying.

export interface InboxLeases {
  isFree(id: number, now: number): boolean
  hold(id: number, token: string, until: number): void
  /** True while nobody else has taken it since, even when its time is over. */
  isHeldBy(id: number, token: string): boolean
  /** The delivery is gone. */
  forget(id: number): void
  /** How many are held or were, and not forgotten. */
  readonly size: number
}

export function createInboxLeases(): InboxLeases {
  const held = new Map<number, { readonly token: string; readonly until: number }>()
  return {
    isFree: (id, now) => (held.get(id)?.until ?? 0) <= now,
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
