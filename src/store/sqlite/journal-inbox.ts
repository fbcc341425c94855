// The reading side of the journal beside the SQLite file: hands out its deliveries, and notes in the database, within the
// transaction that takes them in, which of them are understood.
import {
  alsoUnderstood,
  isUnderstood,
  lastUnderstood,
  waitingUpTo,
  type Progress,
  type Stretch,
} from '../journal/progress.ts'
import { endOf, type JournalRecord } from '../journal/record.ts'
import { endOfJournal, readAgain, readJournal, type Found, type JournalReader, type Place } from '../journal/reader.ts'
import type { InboxItem } from '../inbox.ts'
import type { Database } from './database.ts'
import type { DeliveryKeys } from './delivery-keys.ts'
import type { JournalMarks, Mark } from '../journal/marks.ts'

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

/** What is not yet understood, and when its oldest came. */
export interface JournalState {
  readonly waiting: number
  readonly bytes: number
  readonly oldest: number | undefined
}

/** What is known of a delivery that was handed out. */
interface Seen {
  readonly place: Place
  readonly key: string | undefined
  readonly bytes: number
  readonly receivedAt: number
}

export function journalInbox(db: Database, keys: DeliveryKeys, folder: string, marks: JournalMarks): JournalInbox {
  let progress = readProgress(db)
  let reader: JournalReader | undefined
  const seen = new Map<number, Seen>()
  /** The last one that was come across. */
  let last: Mark = progress.to
  /** Not found in the journal; to be noted with what is understood next. */
  let lost: readonly Stretch[] = []

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

  function* fresh(): Generator<InboxItem> {
    for (let found = peek(); found !== undefined; found = peek()) {
      const { record, place } = found
      const { seq, bytesBefore, receivedAt, delivery } = record
      if (seq > last.seq + 1) {
        lost = [...lost, { from: last.seq + 1, to: seq - 1, bytes: bytesBefore - last.bytes }]
      }
      last = endOf(record)
      seen.set(seq, { place, key: delivery.key, bytes: delivery.body.length, receivedAt })
      reader?.pass()
      yield itemOf(record)
    }
  }

  function item(id: number): InboxItem | undefined {
    const known = seen.get(id)
    const record = known && readAgain(known.place)
    return record && itemOf(record)
  }

  return {
    waiting: function* (isFree) {
      for (const id of [...seen.keys()]) {
        if (!isFree(id)) continue
        const again = item(id)
        if (again !== undefined) yield again
      }
      yield* fresh()
    },
    understand: ids => {
      const now = db.now()
      const finished = ids.flatMap(seq => {
        const known = seen.get(seq)
        if (known === undefined) return []
        if (known.key !== undefined) keys.note(seq, known.key, now)
        return [{ from: seq, to: seq, bytes: known.bytes }]
      })
      keys.joinMany(now)
      const next = alsoUnderstood(progress, [...finished, ...lost])
      writeProgress(db, next)
      for (const { from, to } of lost) countLost(db, to - from + 1)
      return () => {
        progress = next
        lost = []
        for (const { from } of finished) seen.delete(from)
        marks.moveUnderstood(next.to.seq)
      }
    },
    item,
    state: () => {
      const [first] = seen.values()
      const { waiting, bytes } = waitingUpTo(progress, marks.end)
      return { waiting, bytes, oldest: first?.receivedAt ?? peek()?.record.receivedAt }
    },
    close: () => reader?.close(),
  }
}

/** As somebody sees it who only looks. */
export function journalState(progress: Progress, folder: string): JournalState {
  const { waiting, bytes } = waitingUpTo(progress, endOfJournal(folder) ?? lastUnderstood(progress))
  if (waiting <= 0) return { waiting: 0, bytes: 0, oldest: undefined }
  const reader = readJournal(folder, progress.to.seq)
  try {
    for (let found = reader.peek(Infinity); found !== undefined; found = reader.peek(Infinity)) {
      if (!isUnderstood(progress, found.record.seq)) return { waiting, bytes, oldest: found.record.receivedAt }
      reader.pass()
    }
    return { waiting, bytes, oldest: undefined }
  } finally {
    reader.close()
  }
}

function itemOf({ seq, receivedAt, delivery }: JournalRecord): InboxItem {
  return { id: seq, receivedAt, ...delivery }
}

export function readProgress(db: Database): Progress {
  const row = db.prepare('SELECT seq, bytes, beyond FROM journal_progress').get()
  const { seq, bytes, beyond } = row as { seq: number; bytes: number; beyond: string }
  const stretches = (JSON.parse(beyond) as [number, number, number][]).map(([from, to, size]) => ({
    from,
    to,
    bytes: size,
  }))
  return { to: { seq, bytes }, beyond: new Map(stretches.map(one => [one.from, one])) }
}

function writeProgress(db: Database, { to, beyond }: Progress): void {
  db.prepare('UPDATE journal_progress SET seq = ?, bytes = ?, beyond = ?').run(
    ...[to.seq, to.bytes, JSON.stringify([...beyond.values()].map(one => [one.from, one.to, one.bytes]))],
  )
}

function countLost(db: Database, count: number): void {
  db.prepare(
    `INSERT INTO counters VALUES ('pruned.unreadable_deliveries', ?1) ON CONFLICT (name) DO UPDATE SET value = value + ?1`,
  ).run(count)
}
