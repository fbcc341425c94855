// Finds the newest row of each name, such as the newest run of each ref, and counts how many rows were added since the first refresh. Both are cached
// in memory, so a refresh reads only rows that were added since the last one. It also rereads the last `overlap` rows, because rows may change, and
// because another replica may commit a row after one with a higher id.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** The keys by which a row is grouped: its owner, its name within the owner, and the name of the count that the row is added to. */
export interface RowKeys {
  readonly owner: string
  readonly name: string
  readonly counted: string
}

export interface NewestOptions<Row> {
  /** Reads the rows after the row with the id `after`, in the order of their ids. */
  readonly read: (after: number, limit: number) => Promise<readonly Row[]>
  /** Returns the row's owner and name, or undefined to ignore the row. */
  readonly keysOf: (row: Row) => RowKeys | undefined
  /** The row with the highest rank is the newest. */
  readonly rankOf: (row: Row) => number
}

export interface NewestRow<Row> {
  readonly name: string
  readonly row: Row
  /** How many rows were added under this name since the first refresh. */
  readonly counts: ReadonlyMap<string, number>
}

export interface Newest<Row> {
  refresh(): Promise<void>
  /** Returns the newest row of each name, grouped by owner, newest first. */
  all(): ReadonlyMap<string, readonly NewestRow<Row>[]>
  /** Drops a deleted row. Its name is then unknown until another row with that name is read. */
  forget(owner: string, name: string): void
}

interface Entry<Row> {
  row: Row
  readonly counts: Map<string, number>
}

/** The maximum number of names per owner, such as the refs of a project. The names with the newest rows are kept. */
export const maxNames = 500
/** The maximum number of rows that one statement reads. */
const page = 2_000
const overlap = 1_000

export function createNewest<Row extends { readonly id: number }>(options: NewestOptions<Row>): Newest<Row> {
  const { read, keysOf, rankOf } = options
  const owners = new Map<string, Map<string, Entry<Row>>>()
  let highest = 0
  /** True during the first refresh. The rows that it reads are not counted, because they were added before the counting began. */
  let isFirst = true
  /** Ids of the rows that the next refresh reads again. */
  const taken = new Set<number>()

  function take(row: Row): void {
    const keys = keysOf(row)
    if (keys === undefined) return
    const { owner, name, counted } = keys
    const names = owners.get(owner) ?? new Map<string, Entry<Row>>()
    owners.set(owner, names)
    const known = names.get(name) ?? { row, counts: new Map<string, number>() }
    names.set(name, known)
    if (rankOf(row) >= rankOf(known.row)) known.row = row
    const isCounted = isFirst || taken.has(row.id)
    taken.add(row.id)
    known.counts.set(counted, (known.counts.get(counted) ?? 0) + (isCounted ? 0 : 1))
    if (names.size >= 2 * maxNames) {
      for (const [old] of newestFirst(names).slice(maxNames)) names.delete(old)
    }
  }

  const newestFirst = (names: ReadonlyMap<string, Entry<Row>>): (readonly [string, Entry<Row>])[] =>
    [...names].sort(([, a], [, b]) => rankOf(b.row) - rankOf(a.row))

  return {
    refresh: async () => {
      for (let after = Math.max(0, highest - overlap); ;) {
        const rows = await read(after, page)
        for (const row of rows) take(row)
        after = rows.at(-1)?.id ?? after
        highest = Math.max(highest, after)
        for (const id of taken) if (id <= highest - overlap) taken.delete(id)
        if (rows.length < page) break
        await nextTurn()
      }
      isFirst = false
    },
    all: () =>
      new Map(
        [...owners].map(([owner, names]) => [
          owner,
          newestFirst(names)
            .slice(0, maxNames)
            .map(([name, known]) => ({ name, ...known })),
        ]),
      ),
    forget: (owner, name) => {
      const names = owners.get(owner)
      names?.delete(name)
      if (names?.size === 0) owners.delete(owner)
    },
  }
}

/** Returns the owner's name, which consists of the instance and the project id. */
export function ownerOf({ instance, projectId }: { readonly instance: string; readonly projectId: number }): string {
  return JSON.stringify([instance, projectId])
}
