// How far the accepted deliveries are processed according to the database, and which of them were given up.
import { addToCounter } from '../../sql/leases.ts'
import { alsoProcessed, type Checkpoint, type Gap, type Stretch } from './checkpoint.ts'
import { json, number, record } from '../../sql/columns.ts'
import type { Database } from '../database.ts'
import type { DeliveryPositions } from './positions.ts'
import type { Log } from '../../../lib/log.ts'

export interface Progress {
  readonly checkpoint: Checkpoint
  /** Within a transaction. */
  advance(processed: readonly Stretch[]): void
  /** Skips, counts and logs deliveries that are in no readable file. Their numbers are stored, because they may become readable. */
  giveUp(lost: Lost): void
}

interface Lost {
  readonly gaps: readonly Gap[]
  /** The bytes of all their bodies. */
  readonly bytes: number
  /** How many there are, if not all of these numbers were used. */
  readonly deliveries?: number | undefined
}

/** The maximum of gaps whose numbers are stored, the newest: a disk that fails everywhere must not fill the database. */
const maxGaps = 1_000

export function deliveryProgress(db: Database, positions: DeliveryPositions, log: Log | undefined): Progress {
  let checkpoint = readCheckpoint(db)

  function advance(processed: readonly Stretch[]): void {
    const next = alsoProcessed(checkpoint, processed)
    db.prepare('UPDATE delivery_checkpoint SET seq = ?, bytes = ?, beyond = ?').run(
      ...[
        next.to.seq,
        next.to.bytes,
        JSON.stringify([...next.beyond.values()].map(one => [one.from, one.to, one.bytes])),
      ],
    )
    db.afterCommit(() => {
      checkpoint = next
      positions.processed = next.to.seq
    })
  }

  return {
    get checkpoint() {
      return checkpoint
    },
    advance,
    giveUp: ({ gaps, bytes, deliveries = gaps.reduce((sum, { from, to }) => sum + to - from + 1, 0) }) => {
      db.transaction(() => {
        // Only the sum of their sizes is known.
        advance(gaps.map((gap, at) => ({ ...gap, bytes: at === 0 ? bytes : 0 })))
        addUnread(db, gaps)
        if (deliveries > 0) db.prepare(addToCounter).run('pruned.unreadable_deliveries', deliveries)
      })
      if (deliveries === 0) return
      log?.error(
        { deliveries, from: gaps[0]?.from, to: gaps.at(-1)?.to },
        'accepted deliveries cannot be read and are skipped; what is left of their files is kept beside the store and read again from time to time: check the disk, and that no file is missing',
      )
    },
  }
}

/** Within a transaction. */
export function addUnread(db: Database, gaps: readonly Gap[]): void {
  const insert = db.prepare('INSERT OR REPLACE INTO unread_deliveries (first, last) VALUES (?, ?)')
  for (const { from, to } of gaps) if (from <= to) insert.run(from, to)
  db.prepare(
    'DELETE FROM unread_deliveries WHERE first < (SELECT first FROM unread_deliveries ORDER BY first DESC LIMIT 1 OFFSET ?)',
  ).run(maxGaps - 1)
}

const gapOf = record({ from: number('first'), to: number('last') })

/** A gap that has one of these numbers. */
export function unreadAmong(db: Database, first: number, last: number): Gap | undefined {
  const row = db
    .prepare('SELECT first, last FROM unread_deliveries WHERE first <= ? AND last >= ? LIMIT 1')
    .get(last, first)
  return row && gapOf(row)
}

const position = record({ seq: number('seq'), bytes: number('bytes') })
const beyond = json<readonly [from: number, to: number, bytes: number][]>('beyond')

export function readCheckpoint(db: Database): Checkpoint {
  const row = db.prepare('SELECT seq, bytes, beyond FROM delivery_checkpoint').get() ?? {}
  const { seq, bytes } = position(row)
  // If it is damaged, later deliveries are processed again, which changes nothing.
  const known =
    db.damaged.orNothing({ checkpoint: seq }, 'the deliveries after it are read again', () => beyond(row)) ?? []
  const stretches = known.map(([from, to, size]) => ({ from, to, bytes: size }))
  return { to: { seq, bytes }, beyond: new Map(stretches.map(one => [one.from, one])) }
}
