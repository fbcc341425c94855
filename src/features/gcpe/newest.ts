// The newest row of each name, such as the newest run of each ref, and how many rows there have been. Remembered in this process: each refresh
// reads only the rows that were added since the last one.
//
// Counts are the same in every replica and after every restart, because they depend on the rows alone: the last `overlap` rows are read and counted
// anew by each refresh, since another replica may commit a row later than one with a higher id, and rows may change. Earlier rows are counted once,
// and their counts are stored with the id up to which they hold, as pruning deletes the rows. Whoever starts continues from there. Replicas may
// overwrite each other's stored counts: each is true for its own id.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Where a row belongs: to a name of an owner, and to which count of that name. */
export interface Place {
  readonly owner: string
  readonly name: string
  readonly counted: string
}

/** What is stored of an owner: counts of the rows up to `upTo`, as pairs by name. */
export interface OwnersCounts {
  readonly upTo: number
  readonly names: Record<string, [counted: string, count: number][]>
}

export interface NewestOptions<Row> {
  /** Rows after the row `after`, in the order of their ids. */
  readonly read: (after: number, limit: number) => Promise<readonly Row[]>
  /** Undefined: the row is of no interest. */
  readonly placeOf: (row: Row) => Place | undefined
  /** The row with the highest one is the newest. */
  readonly rankOf: (row: Row) => number
  readonly counts: {
    load(): Promise<ReadonlyMap<string, OwnersCounts>>
    save(owner: string, counts: OwnersCounts): Promise<void>
  }
}

export interface NewestRow<Row> {
  readonly name: string
  readonly row: Row
  /** How many rows there have been. */
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
  /** Of the rows up to `upTo`. */
  readonly counted: Map<string, number>
  /** Of the rows after it. */
  readonly recent: Map<string, number>
}

/** Names of each owner, such as the refs of a project; those with the newest rows stay. */
export const maxNames = 500
/** Rows of one statement. */
const page = 2_000
const overlap = 1_000
/** Owners whose counts are stored by one refresh: each is a commit. They are stored long before their rows are pruned. */
const savedAtOnce = 20

export function createNewest<Row extends { readonly id: number }>(options: NewestOptions<Row>): Newest<Row> {
  const { read, placeOf, rankOf, counts } = options
  const owners = new Map<string, Map<string, Known<Row>>>()
  /** Undefined before the first refresh. */
  let stored: ReadonlyMap<string, OwnersCounts> | undefined
  /** Rows up to this one are counted for good. */
  let upTo = 0
  /** Owners with counts that are not stored, the oldest first. */
  const unsaved = new Set<string>()

  /** `isForGood`: the row is not read again. */
  function take(row: Row, isForGood: boolean, before: ReadonlyMap<string, OwnersCounts>): void {
    const place = placeOf(row)
    if (place === undefined) return
    const { owner, name, counted } = place
    const names = owners.get(owner) ?? new Map<string, Known<Row>>()
    owners.set(owner, names)
    const of = before.get(owner)
    const known = names.get(name) ?? { row, counted: new Map(of?.names[name]), recent: new Map<string, number>() }
    names.set(name, known)
    if (rankOf(row) >= rankOf(known.row)) known.row = row
    const isCounted = row.id <= (of?.upTo ?? 0)
    const into = isForGood || isCounted ? known.counted : known.recent
    into.set(counted, (into.get(counted) ?? 0) + (isCounted ? 0 : 1))
    if (isForGood && !isCounted) unsaved.add(owner)
    if (names.size >= 2 * maxNames) {
      for (const [old] of newestFirst(names).slice(maxNames)) names.delete(old)
    }
  }

  const newestFirst = (names: ReadonlyMap<string, Known<Row>>): (readonly [string, Known<Row>])[] =>
    [...names].sort(([, a], [, b]) => rankOf(b.row) - rankOf(a.row))

  async function readRows(before: ReadonlyMap<string, OwnersCounts>): Promise<void> {
    for (const names of owners.values()) for (const { recent } of names.values()) recent.clear()
    let recent: Row[] = []
    for (let after = upTo; ;) {
      const rows = await read(after, page)
      after = rows.at(-1)?.id ?? after
      upTo = Math.max(upTo, after - overlap)
      const uncounted = [...recent, ...rows]
      recent = uncounted.filter(row => row.id > upTo)
      for (const row of uncounted) if (row.id <= upTo) take(row, true, before)
      if (rows.length < page) break
      await nextTurn()
    }
    for (const row of recent) take(row, false, before)
  }

  async function save(): Promise<void> {
    for (const owner of [...unsaved].slice(0, savedAtOnce)) {
      const names = [...(owners.get(owner) ?? [])].map(([name, { counted }]): [string, [string, number][]] => [
        name,
        [...counted],
      ])
      const isUpTo = Math.max(upTo, stored?.get(owner)?.upTo ?? 0)
      await counts.save(owner, { upTo: isUpTo, names: Object.fromEntries(names) })
      unsaved.delete(owner)
    }
  }

  return {
    refresh: async () => {
      stored ??= await counts.load()
      await readRows(stored)
      await save()
    },
    all: () =>
      new Map(
        [...owners].map(([owner, names]) => [
          owner,
          newestFirst(names)
            .slice(0, maxNames)
            .map(([name, { row, counted, recent }]) => ({ name, row, counts: sumOf(counted, recent) })),
        ]),
      ),
    forget: (owner, name) => {
      const names = owners.get(owner)
      names?.delete(name)
      if (names?.size === 0) owners.delete(owner)
    },
  }
}

function sumOf(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([...one.keys(), ...other.keys()].map(name => [name, (one.get(name) ?? 0) + (other.get(name) ?? 0)]))
}
