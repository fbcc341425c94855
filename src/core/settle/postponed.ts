// Deliveries that the store failed to process while it processed others (a damaged page, a row that another connection has locked), and runs that
// cannot be settled. Each is retried with growing pauses and delays no other.

export interface Postponed<Id> {
  /** True when it was postponed before. */
  has(id: Id): boolean
  /** Must be called whenever the item is leased again, because it counts the leases to skip. */
  isWaiting(id: Id): boolean
  postpone(id: Id): void
  forget(id: Id): void
}

/** The maximum of leases to skip before another try, which is a few minutes. */
const maxWait = 16
/** Beyond this number all are forgotten and tried as usual. */
const most = 10_000

export function createPostponed<Id>(): Postponed<Id> {
  const known = new Map<Id, { readonly rest: number; left: number }>()
  return {
    has: id => known.has(id),
    isWaiting: id => {
      const one = known.get(id)
      if (one === undefined || one.left === 0) return false
      one.left -= 1
      return true
    },
    postpone: id => {
      const before = known.get(id)
      const rest = before === undefined ? 0 : Math.min(maxWait, Math.max(1, before.rest * 2))
      if (before === undefined && known.size >= most) known.clear()
      known.set(id, { rest, left: rest })
    },
    forget: id => {
      known.delete(id)
    },
  }
}
