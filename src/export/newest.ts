// The newest row of each name, such as the newest run of each ref, and how many rows were added. Remembered in this process: each refresh reads only
// the rows that were added since the last one.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Where a row belongs: to a name of an owner, and to which count of that name. */
export interface Place {
  readonly owner: string
  readonly name: string
  readonly counted: string
}

export interface NewestOptions<Row> {
  /** Rows after the row `after`, in the order of their ids. */
  readonly read: (after: number, limit: number) => Promise<readonly Row[]>
  /** Undefined: the row is of no interest. */
  readonly placeOf: (row: Row) => Place | undefined
  /** The row with the highest one is the newest. */
  readonly rankOf: (row: Row) => number
  /** Names of each owner; those with the newest rows stay. */
  readonly maxNames: number
}

export interface NewestRow<Row> {
  readonly name: string
  readonly row: Row
  /** How many rows were added since the first refresh. */
  readonly counts: ReadonlyMap<string, number>
}

export interface Newest<Row> {
  refresh(): Promise<void>
  /** The names of each owner, the newest first. */
  all(): ReadonlyMap<string, readonly NewestRow<Row>[]>
  /** The row is gone, so its name is unknown until the next one. */
  forget(owner: string, name: string): void
}

interface Known<Row> {
  row: Row
  readonly counts: Map<string, number>
}

/** Rows of one statement. */
const page = 2_000
/** So many rows are read again: another replica may commit a row later than one with a higher id, and rows may change. */
const overlap = 1_000

export function createNewest<Row extends { readonly id: number }>(options: NewestOptions<Row>): Newest<Row> {
  const { read, placeOf, rankOf, maxNames } = options
  const owners = new Map<string, Map<string, Known<Row>>>()
  let last = 0
  /** The ids above `last - overlap`; undefined before the first refresh. */
  let seen: ReadonlySet<number> | undefined

  function take(row: Row, isAdded: boolean): void {
    const place = placeOf(row)
    if (place === undefined) return
    const names = owners.get(place.owner) ?? new Map<string, Known<Row>>()
    owners.set(place.owner, names)
    const known = names.get(place.name) ?? { row, counts: new Map<string, number>() }
    if (rankOf(row) >= rankOf(known.row)) known.row = row
    known.counts.set(place.counted, (known.counts.get(place.counted) ?? 0) + (isAdded ? 1 : 0))
    names.set(place.name, known)
    if (names.size >= 2 * maxNames) {
      for (const [name] of newestFirst(names).slice(maxNames)) names.delete(name)
    }
  }

  const newestFirst = (names: ReadonlyMap<string, Known<Row>>): (readonly [string, Known<Row>])[] =>
    [...names].sort(([, a], [, b]) => rankOf(b.row) - rankOf(a.row))

  return {
    refresh: async () => {
      const ids = new Set<number>()
      let after = Math.max(0, last - overlap)
      for (;;) {
        const rows = await read(after, page)
        for (const row of rows) {
          take(row, seen !== undefined && !seen.has(row.id))
          ids.add(row.id)
        }
        after = rows.at(-1)?.id ?? after
        if (rows.length < page) break
        await nextTurn()
      }
      last = Math.max(last, after)
      seen = new Set([...ids].filter(id => id > last - overlap))
    },
    all: () =>
      new Map(
        [...owners].map(([owner, names]) => [
          owner,
          newestFirst(names)
            .slice(0, maxNames)
            .map(([name, { row, counts }]) => ({ name, row, counts })),
        ]),
      ),
    forget: (owner, name) => {
      const names = owners.get(owner)
      names?.delete(name)
      if (names?.size === 0) owners.delete(owner)
    },
  }
}
