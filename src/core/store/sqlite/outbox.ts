// The outbox on SQLite. Leases are in memory, so that leasing needs no commit, and end with the process. A small file lists the leased entries for
// the next process.
import { randomUUID } from 'node:crypto'
import { bothEnds, headsOf, isInOrder, selectInOrder } from '../sql/in-order.ts'
import { deadLetters, entryColumns, entryOf, settle } from '../sql/outbox.ts'
import { number, record } from '../sql/columns.ts'
import { execute, sqliteStatements, withinOf } from './statements.ts'
import { openSync, readFileSync, writeSync } from 'node:fs'
import type { Database } from './database.ts'
import type { OutboxEntry, Outbox, ExportQueue } from '../ports/outbox.ts'

/**
 * The leased entries, in memory, because only one process serves a file. If leases were stored in the rows, each lease would need a commit. An entry
 * stays in this map until it is settled, even after its lease has expired, so that the latest token can still settle it. Lease ends are in monotonic
 * ms.
 */
type Leases = Map<number, { readonly token: string; readonly until: number }>

/** Returns when an entry's lease ends, or 0 if the entry is not leased. */
function endOf(leases: Leases, id: number): number {
  return leases.get(id)?.until ?? 0
}

/** Creates the outbox on SQLite. `noteFile`: the file that lists leased entries. Undefined for a store in memory, and for commands. */
export function sqliteOutbox(db: Database, noteFile: string | undefined): Outbox {
  const leases: Leases = new Map()
  const note = openLeasedNote(noteFile, id => db.prepare(`SELECT 1 FROM outbox WHERE id = ?`).get(id) !== undefined)
  return {
    lease: async (queue, limit, leaseMs, maxBytes = Infinity) => {
      const token = randomUUID()
      const items = freeItems(db, leases, queue, { now: db.now(), limit, maxBytes })
      if (items.length === 0) return { token, items, repeated: 0 }
      const again = items.filter(({ id }) => note.wasLeased(id) || leases.has(id))
      for (const { id } of items) leases.set(id, { token, until: db.elapsed() + leaseMs })
      note.write([...leases.keys()])
      return { token, items, repeated: again.length }
    },
    settle: async (token, settlements) => {
      const own = settlements.filter(({ id }) => leases.get(id)?.token === token)
      // All entries are settled with the same timestamp, so that the entries of one request become due again together.
      const within = withinOf(db)
      const settled = db.transaction(() => execute(db, settle(own, token, within)))
      // The leases end only after the commit, so that the same lease can settle the entries again if the commit fails.
      for (const { id } of own) leases.delete(id)
      note.write([...leases.keys()])
      return { lost: settlements.length - settled, at: within.now }
    },
    dueIn: async queue => {
      const rows = isInOrder(queue)
        ? headsIn(db, queue)
        : db
            .prepare(
              `SELECT id, due_at FROM outbox WHERE state = 'pending' AND destination = ? AND signal = ?
           ORDER BY due_at, id LIMIT ?`,
            )
            // Leased entries were due earlier and come first. So reading one row more than there are leases always includes the first entry that is
            // not leased.
            .all(queue.destination, queue.signal, leases.size + 1)
            .map(due)
      const [now, at] = [db.now(), db.elapsed()]
      const pauses = rows.map(entry => Math.max(entry.at - now, endOf(leases, entry.id) - at))
      return pauses.length === 0 ? undefined : Math.max(0, Math.min(...pauses))
    },
    ...deadLetters(sqliteStatements(db)),
  }
}

const idOf = number('id')
const due = record({ id: idOf, at: number('due_at') })

function headsIn(db: Database, { destination, signal }: ExportQueue): { readonly id: number; readonly at: number }[] {
  return headsOf(db.prepare(selectInOrder).all(destination, signal)).map(({ id, dueAt }) => ({ id, at: dueAt }))
}

function freeItems(
  db: Database,
  leases: Leases,
  queue: ExportQueue,
  { now, limit, maxBytes }: { now: number; limit: number; maxBytes: number },
): OutboxEntry[] {
  const at = db.elapsed()
  const ids = (order: 'ASC' | 'DESC'): number[] =>
    db
      .prepare(
        `SELECT id FROM outbox WHERE state = 'pending' AND destination = ? AND signal = ? AND due_at <= ?
         ORDER BY due_at ${order}, id ${order} LIMIT ?`,
      )
      // The query also returns leased entries, so its limit is raised by their number.
      .all(queue.destination, queue.signal, now, limit + leases.size)
      .map(idOf)
      .filter(id => endOf(leases, id) <= at)
      .slice(0, limit)
  const oldest = isInOrder(queue)
    ? headsIn(db, queue)
        .filter(({ id, at: dueAt }) => dueAt <= now && endOf(leases, id) <= at)
        .slice(0, limit)
        .map(({ id }) => id)
    : ids('ASC')
  const newest = oldest.length < limit || isInOrder(queue) ? oldest.toReversed() : ids('DESC')
  const select = db.prepare(
    `SELECT o.id, o.tries, o.pending_since, ${entryColumns} FROM outbox o JOIN messages m ON m.id = o.message_id WHERE o.id = ?`,
  )
  const items: OutboxEntry[] = []
  let bytes = 0
  for (const id of bothEnds(oldest, newest, limit)) {
    if (bytes >= maxBytes) break
    const item = db.damaged.row('outbox', select.get(id), entryOf, { id })
    if (item === undefined) continue
    items.push(item)
    bytes += item.body.length
  }
  return items
}

// Lists the leased outbox entries in a small file next to the store. The entries that a killed process had leased may have been sent, so the next
// process counts them as repeated. The file is written without fsync, because written data survives its process. If the file cannot be written,
// nothing is counted.
interface LeasedNote {
  /** Whether the entry was leased when the previous process ended. For each entry, returns true at most once. */
  wasLeased(id: number): boolean
  /** Replaces the list with exactly the entries that are now leased. */
  write(ids: readonly number[]): void
}

/**
 * Opens the list of leased entries. `file`: undefined for a store in memory, and for commands. `isPending`: whether an id from the old list belongs
 * to a pending entry. A new entry may have reused the id of a settled entry.
 */
function openLeasedNote(file: string | undefined, isPending: (id: number) => boolean): LeasedNote {
  const before = new Set(file === undefined ? [] : read(file).filter(isPending))
  let descriptor: number | undefined
  return {
    wasLeased: id => before.delete(id),
    write: ids => {
      if (file === undefined) return
      try {
        descriptor ??= openSync(file, 'w', 0o600)
        // The list is a single write at offset 0. Only the first line is read, so leftovers of a longer old list do no harm.
        writeSync(descriptor, `${JSON.stringify([...ids, ...before])}\n`, 0)
      } catch {
        // If the disk is full or missing, the list is not written.
      }
    },
  }
}

function read(file: string): number[] {
  try {
    const [line = ''] = readFileSync(file, 'utf8').split('\n', 1)
    return (JSON.parse(line) as unknown[]).map(Number).filter(Number.isSafeInteger)
  } catch {
    // There is no list yet, or the machine crashed while it was being written.
    return []
  }
}
