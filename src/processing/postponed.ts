// Deliveries that the store could not take in while it took in others, and which are not to blame themselves (a damaged page, a
// row that somebody else holds), and runs that cannot be settled: each is tried again ever more rarely, and the others do not wait for it.

/** `Id`: what they are known by. */
export interface Setbacks<Id> {
  /** It had one. */
  has(id: Id): boolean
  /** To be asked whenever it comes up again, which it does each time its lease has run out. */
  isResting(id: Id): boolean
  note(id: Id): void
  forget(id: Id): void
}

/** So often it may come up before it is tried again, at most: a few minutes. */
const longestRest = 16
/** More are not remembered: then they are tried as all the others are. */
const most = 10_000

export function createSetbacks<Id>(): Setbacks<Id> {
  const known = new Map<Id, { readonly rest: number; left: number }>()
  return {
    has: id => known.has(id),
    isResting: id => {
      const one = known.get(id)
      if (one === undefined || one.left === 0) return false
      one.left -= 1
      return true
    },
    note: id => {
      const before = known.get(id)
      const rest = before === undefined ? 0 : Math.min(longestRest, Math.max(1, before.rest * 2))
      if (before === undefined && known.size >= most) known.clear()
      known.set(id, { rest, left: rest })
    },
    forget: id => {
      known.delete(id)
    },
  }
}
