// Repairs times that were stored while a clock was ahead: otherwise work would wait for hours or years, even after restarts.
//
// Two rules: a row that is due later than the longest wait of its kind is due now, and a time in the future becomes now. For both
// databases.
import type { Statements } from './statements.ts'

/** The longest wait of an export, ms; a longer `Retry-After` is kept by the export queue. */
export const maxPutOff = 600_000

const second = 1_000
const hour = 3_600 * second
const day = 24 * hour

/** Longer than any lease, ms. */
const maxLease = 2 * hour
/** Longer than any pause of the enrichment queue: an hour, a week for silent runs; ms. */
const maxUnasked = { usual: 2 * hour, silent: 8 * day }
/** Permanent leases end so far ahead that no wrong clock can have set them. */
export const forGood = 50 * 365 * day

/** The one parameter: the store's time, ms. */
const now = 'CAST(?1 AS bigint)'
/** Another replica may have committed a moment after this transaction read the clock: its rows are not from the future. */
const future = `${now} + ${second}`
const endOfToday = `(${now} / ${day} + 1) * ${day}`

/** The queue comes first: its last condition needs the `changed_at` of runs, which a later statement changes. */
const broughtBack: readonly string[] = [
  `UPDATE enrichment_queue SET due_at = ${now}, leased = 0
   WHERE due_at > ${now} + ${maxUnasked.silent} OR due_at > ${now} + ${maxUnasked.usual} AND (leased = 1 OR priority <> 'silent')
      OR due_at > ${now} AND leased = 0 AND run_id IN (SELECT id FROM runs WHERE due_at IS NOT NULL AND changed_at > ${future})`,
  `UPDATE job_reads SET due_at = ${now}, leased = 0
   WHERE due_at > ${now} AND (pending_since > ${future} OR due_at > ${now} + ${maxUnasked.usual})`,
  `UPDATE runs SET due_at = ${now} WHERE due_at > ${now} AND changed_at > ${future}`,
  `UPDATE runs SET changed_at = ${now} WHERE due_at IS NULL AND changed_at > ${future}`,
  `UPDATE outbox SET due_at = ${now}
   WHERE state = 'pending' AND lease IS NULL AND due_at > ${now} AND (pending_since > ${future} OR due_at > ${now} + ${maxPutOff})`,
  `UPDATE outbox SET due_at = ${now}, lease = NULL
   WHERE state = 'pending' AND lease IS NOT NULL AND due_at > ${now} + ${maxLease}`,
  `UPDATE outbox SET settled_at = ${now} WHERE state = 'dead' AND settled_at > ${future}`,
  `DELETE FROM leases WHERE until > ${now} + ${maxLease} AND until < ${now} + ${forGood}`,
  `UPDATE delivery_keys SET seen_at = ${endOfToday}
   WHERE seen_at > ${endOfToday} AND key NOT IN (SELECT key FROM delivery_keys WHERE seen_at = ${endOfToday})`,
  `UPDATE tombstones SET pruned_at = ${now} WHERE pruned_at > ${future}`,
  `UPDATE quarantined_deliveries SET received_at = ${now} WHERE received_at > ${future}`,
  `UPDATE test_reports SET reported_at = ${now} WHERE reported_at > ${future}`,
  `UPDATE deployments SET due_at = ${now} WHERE due_at > ${now} + ${maxUnasked.silent}`,
  `UPDATE changes SET due_at = ${now} WHERE due_at > ${now} + ${maxUnasked.usual}`,
  `UPDATE incidents SET due_at = ${now} WHERE due_at > ${now} + ${maxLease}`,
  `UPDATE flaky_tests SET found_at = ${now} WHERE found_at > ${future}`,
  `UPDATE flaky_jobs SET found_at = ${now} WHERE found_at > ${future}`,
]

/** Returns the number of repaired rows. */
export async function bringBack(sql: Statements): Promise<number> {
  return sql.transaction(function* (within) {
    let rows = 0
    for (const repair of broughtBack) rows += (yield [`${repair} RETURNING 1`, [within.now]]).length
    return rows
  })
}
