// Repairs times that were stored while a clock was ahead: otherwise work would wait for hours or years, even after restarts. For both databases.
//
// Two rules, one statement for each line of the tables below. What is due later than the longest wait of its kind, or was put off at a time in the future, is
// due now. Any other time in the future becomes now. What only expires later because of such a time (keys of deliveries) stays.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Statements } from './statements.ts'

const second = 1_000
const hour = 3_600 * second
const day = 24 * hour

/** Longer than any lease, and any pause but those of silent runs, ms. */
export const usual = 2 * hour
/** Silent runs, and what is requested about them, are checked once a week; ms. */
export const ofSilent = 8 * day
/** Permanent leases end so far ahead that no wrong clock can have set them. */
export const forGood = 50 * 365 * day

/** The one parameter: the store's time, ms. */
const now = 'CAST(?1 AS bigint)'
/** Another replica may have committed a moment after this transaction read the clock: its rows are not from the future. */
const future = `${now} + ${second}`

export interface Wait {
  readonly table: string
  readonly due?: string
  /** The longest wait, ms. */
  readonly max?: number
  /** The column of the time since when it waits, after the conditions under which that time is reliable. */
  readonly since?: string
  readonly only?: string
}

/** Times of rows of a feature. */
export interface StoredTimes {
  /** How long its rows may wait; longer: a clock was ahead. */
  readonly waits?: readonly Wait[]
  /** Columns of times that are only in the future if a clock was ahead. */
  readonly times?: readonly TimeColumn[]
}

type TimeColumn = readonly [table: string, column: string]

const waits: readonly Wait[] = [
  { table: 'enrichment_queue', max: usual, only: "priority <> 'silent' OR leased = 1" },
  { table: 'enrichment_queue', max: ofSilent },
  { table: 'runs', since: 'changed_at' },
  // A leased entry is being sent, however late it was stored.
  { table: 'outbox', max: usual, since: 'lease IS NULL AND pending_since', only: "state = 'pending'" },
  { table: 'leases', due: 'until', max: usual, only: `until < ${now} + ${forGood}` },
]

/** Repaired after the waits, because waits are judged by some of these times. */
const times: readonly TimeColumn[] = [
  ['runs', 'changed_at'],
  ['outbox', 'settled_at'],
  ['tombstones', 'pruned_at'],
  ['quarantined_deliveries', 'received_at'],
]

function broughtBack({ table, due = 'due_at', max, since, only = 'TRUE' }: Wait): string {
  const tooLong = max === undefined ? 'FALSE' : `${due} > ${now} + ${max}`
  const fromThen = since === undefined ? 'FALSE' : `${since} > ${future}`
  return `UPDATE ${table} SET ${due} = ${now} WHERE ${due} > ${now} AND (${only}) AND (${tooLong} OR ${fromThen}) RETURNING 1`
}

function repaired([table, column]: TimeColumn): string {
  return `UPDATE ${table} SET ${column} = ${now} WHERE ${column} > ${future} RETURNING 1`
}

/**
 * Returns the number of repaired rows. Each statement is a transaction with its own time: on PostgreSQL it sees what others have committed since the
 * one before it, which would lie in the future of an earlier time. On SQLite other work can run between two statements.
 */
export async function bringBack(sql: Statements, parts: readonly StoredTimes[]): Promise<number> {
  const allWaits = [...waits, ...parts.flatMap(one => one.waits ?? [])]
  const allTimes = [...times, ...parts.flatMap(one => one.times ?? [])]
  let rows = 0
  let latest = -Infinity
  for (const repair of [...allWaits.map(broughtBack), ...allTimes.map(repaired)]) {
    rows += await sql.transaction(function* (within) {
      // If the clock is set back meanwhile, the waits were judged by the wrong time: what they are judged by must stay for the next repair.
      latest = Math.max(latest, within.now)
      return (yield [repair, [latest]]).length
    })
    await nextTurn()
  }
  return rows
}
