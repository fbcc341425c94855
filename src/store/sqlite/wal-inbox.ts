// The reading side of the journal beside the SQLite file: hands out its deliveries, and notes in the database, within the
// transaction that takes them in, which of them are understood.
import { alsoUnderstood, isUnderstood, notUnderstood, waitingUpTo } from './wal/checkpoint.ts'
import { endOf, type JournalRecord } from './wal/record.ts'
import { noteLost, readProgress, writeProgress, type Gap, type JournalState } from './wal-checkpoint.ts'
import { noteStuck } from './wal/stuck.ts'
import { readAgain, readJournal } from './wal/reader.ts'
import type { Found, JournalReader, Place, Unread } from './wal/reader.ts'
import type { InboxItem } from '../ports/inbox.ts'
import type { Database } from './database.ts'
import type { DeliveryKeys } from './delivery-keys.ts'
import type { JournalMarks, Mark } from './wal/positions.ts'
import type { Log } from '../../lib/log.ts'

export interface JournalInbox {
  /** Waiting deliveries in their order: first those that were handed out before and `isFree` again. Stop asking when enough. */
  waiting(isFree: (id: number) => boolean): Generator<InboxItem>
  /** Within a transaction: these are understood. Answers what is to be called once it is committed. */
  understand(ids: readonly number[]): () => void
  /** A delivery that was handed out and is not understood. */
  item(id: number): InboxItem | undefined
  state(): JournalState
  close(): void
}

/** What is known of a delivery that was handed out. */
interface Seen {
  readonly place: Place
  readonly key: string | undefined
  readonly bytes: number
  readonly receivedAt: number
}

export interface JournalInboxOptions {
  readonly db: Database
  readonly keys: DeliveryKeys
  readonly folder: string
  readonly marks: JournalMarks
  readonly log: Log | undefined
}

export function journalInbox({ db, keys, folder, marks, log }: JournalInboxOptions): JournalInbox {
  let progress = readProgress(db)
  let reader: JournalReader | undefined
  const seen = new Map<number, Seen>()
  /** The last one that was come across. */
  let last: Mark = progress.to

  /** The next one that was not handed out. */
  function peek(): Found | undefined {
    reader ??= readJournal(folder, last.seq)
    for (;;) {
      const found = reader.peek(marks.end.seq)
      if (found === undefined || !isUnderstood(progress, found.record.seq)) return found
      last = endOf(found.record)
      reader.pass()
    }
  }

  /** These will not be found any more: nobody waits for them from now on. `bytes`: of all their bodies. */
  function giveUp(gaps: readonly Gap[], bytes: number, unread: readonly Unread[]): void {
    if (gaps.length === 0) return
    // Which body was how long nobody knows.
    const stretches = gaps.map((gap, at) => ({ ...gap, bytes: at === 0 ? bytes : 0 }))
    const next = alsoUnderstood(progress, stretches)
    noteLost(db, next, { gaps, unread }, log)
    progress = next
    marks.moveUnderstood(next.to.seq)
  }

  /** Bytes of what lies between two marks and is not known to be understood: with it all sums are as the marks have them. */
  function bytesBetween(from: Mark, to: Mark): number {
    const known = [...progress.beyond.values()].filter(one => one.from > from.seq && one.to < to.seq)
    return known.reduce((left, { bytes }) => left - bytes, to.bytes - from.bytes)
  }

  function* fresh(): Generator<InboxItem> {
    for (let found = peek(); found !== undefined; found = peek()) {
      const { record, place, unread } = found
      const { seq, bytesBefore, receivedAt, delivery } = record
      const between = bytesBetween(last, { seq, bytes: bytesBefore })
      giveUp(notUnderstood(progress, last.seq, seq), between, unread)
      last = endOf(record)
      seen.set(seq, { place, key: delivery.key, bytes: delivery.body.length, receivedAt })
      reader?.pass()
      yield itemOf(record)
    }
    passOverTheEnd()
  }

  /** What was accepted last may be what cannot be read: then nothing comes after it by which it could be told. */
  function passOverTheEnd(): void {
    const { end } = marks
    if (reader === undefined || last.seq >= end.seq || reader.peek(end.seq) !== undefined) return
    const unread = reader.instead(end.seq)
    if (unread === undefined) return
    giveUp(notUnderstood(progress, last.seq, end.seq + 1), bytesBetween(last, end), unread)
    last = end
    reader.skipTo(end.seq)
  }

  function item(id: number): InboxItem | undefined {
    const known = seen.get(id)
    if (known === undefined) return undefined
    const record = readAgain(known.place, id) ?? findAgain(id, known)
    return record && itemOf(record)
  }

  /** Its file may have been written anew, or be gone. */
  function findAgain(id: number, known: Seen): JournalRecord | undefined {
    const search = readJournal(folder, id - 1)
    try {
      const found = search.peek(id)
      if (found !== undefined) {
        seen.set(id, { ...known, place: found.place })
        return found.record
      }
      const unread = search.instead(id)
      if (unread === undefined) return undefined
      giveUp([{ from: id, to: id }], known.bytes, unread)
      seen.delete(id)
      return undefined
    } finally {
      search.close()
    }
  }

  function* waiting(isFree: (id: number) => boolean): Generator<InboxItem> {
    for (const id of [...seen.keys()]) {
      if (!isFree(id)) continue
      const again = item(id)
      if (again !== undefined) yield again
    }
    yield* fresh()
  }

  return {
    waiting: isFree => noting(waiting(isFree), marks, () => last.seq < marks.end.seq),
    understand: ids => {
      const now = db.now()
      const finished = ids.flatMap(seq => {
        const known = seen.get(seq)
        if (known === undefined) return []
        if (known.key !== undefined) keys.note(seq, known.key, now)
        return [{ from: seq, to: seq, bytes: known.bytes }]
      })
      keys.joinMany(now)
      const next = alsoUnderstood(progress, finished)
      writeProgress(db, next)
      return () => {
        progress = next
        for (const { from } of finished) seen.delete(from)
        marks.moveUnderstood(next.to.seq)
      }
    },
    item,
    state: () => {
      const [first] = seen.values()
      const { waiting: count, bytes } = waitingUpTo(progress, marks.end)
      return { waiting: count, bytes, oldest: first?.receivedAt ?? oldest(peek) }
    },
    close: () => reader?.close(),
  }
}

/** Where it cannot be read there is none to show. */
function oldest(peek: () => Found | undefined): number | undefined {
  try {
    return peek()?.record.receivedAt
  } catch {
    return undefined
  }
}

/** Notes since when something waits and nothing of it can be read, for whoever is asked how the store is. */
function* noting(items: Generator<InboxItem>, marks: JournalMarks, isWaiting: () => boolean): Generator<InboxItem> {
  try {
    let isAny = false
    for (const one of items) {
      isAny = true
      marks.noteStuck(0)
      yield one
    }
    if (isAny || !isWaiting()) marks.noteStuck(0)
    else noteStuck(marks)
  } catch (error) {
    noteStuck(marks)
    throw error
  }
}

function itemOf({ seq, receivedAt, delivery }: JournalRecord): InboxItem {
  return { id: seq, receivedAt, ...delivery }
}
