// Repairs times that were stored while a clock was ahead, for both databases. Without the repair, work would wait for hours or years, even across
// restarts.
//
// There are two rules, with one statement for each line of the tables below. First, a row becomes due now if it would have to wait longer than the
// maximum for its kind, or if its waiting time began in the future. Second, any other time in the future is set to the current time. Rows that merely
// expire too late because of such a time (delivery keys) stay unchanged.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Statements } from './statements.ts'

const second = 1_000
const hour = 3_600 * second
const day = 24 * hour

/** A time in ms that is longer than any lease, and longer than any wait except the waits of silent runs. */
export const maxWait = 2 * hour
/** The maximum wait in ms of silent runs, which are checked once a week, and of requests about them. */
export const maxSilentWait = 8 * day
/** A lease that ends at least this many ms in the future counts as permanent. No wrong clock can have set a time so far ahead. */
export const forGood = 50 * 365 * day

/** The only parameter of the statements: the store's current time in ms. */
const now = 'CAST(?1 AS bigint)'
/** Times up to one second ahead are accepted, because another replica may have committed a moment after this transaction read the clock. */
const future = `${now} + ${second}`

export interface Wait {
  readonly table: string
  readonly due?: string
  /** The maximum wait in ms. */
  readonly max?: number
  /** An SQL expression that ends in the column with the time since which the row has been waiting. It may begin with conditions, joined with AND. */
  readonly since?: string
  readonly only?: string
}

/** The columns of a feature's tables that contain times. */
export interface StoredTimes {
  /** How long rows of the feature may wait. If a row waits longer, a clock was ahead. */
  readonly waits?: readonly Wait[]
  /** Columns whose times are in the future only if a clock was ahead. */
  readonly times?: readonly TimeColumn[]
}

type TimeColumn = readonly [table: string, column: string]

const waits: readonly Wait[] = [
  { table: 'enrichment_queue', max: maxWait, only: "priority <> 'silent' OR leased = 1" },
  { table: 'enrichment_queue', max: maxSilentWait },
  { table: 'runs', since: 'changed_at' },
  // A leased entry is being sent, so the time at which it was stored does not matter.
  { table: 'outbox', max: maxWait, since: 'lease IS NULL AND pending_since', only: "state = 'pending'" },
  { table: 'leases', due: 'until', max: maxWait, only: `until < ${now} + ${forGood}` },
]

/** These columns are repaired after the waits, because the repair of waits reads some of them. */
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
 * Repairs times that are too far ahead. Returns the number of repaired rows. Each statement is a transaction that reads the clock again: on
 * PostgreSQL it sees rows that other replicas have committed since the previous statement, and with an earlier clock reading their times would seem
 * to be in the future. On SQLite other work can run between two statements.
 */
export async function bringBack(sql: Statements, parts: readonly StoredTimes[]): Promise<number> {
  const allWaits = [...waits, ...parts.flatMap(one => one.waits ?? [])]
  const allTimes = [...times, ...parts.flatMap(one => one.times ?? [])]
  let rows = 0
  let latest = -Infinity
  for (const repair of [...allWaits.map(broughtBack), ...allTimes.map(repaired)]) {
    rows += await sql.transaction(function* (within) {
      // The clock can be set back during a repair. The statements so far have then compared with a time that was too late, so the next repair must
      // compare the same stored times again. If the remaining statements compared with the corrected time, they would overwrite times that the next
      // repair needs. Therefore they compare with the latest time that this repair has read.
      latest = Math.max(latest, within.now)
      return (yield [repair, [latest]]).length
    })
    await nextTurn()
  }
  return rows
}
