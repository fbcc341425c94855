// What a clock that was ahead has left behind: times at which something is to be done that lie further ahead than anything is ever
// put off. Hours or years of waiting, also after restarts. For both databases; each runs it in one transaction.
//
// Everything that waits for a time waits for no longer than its own maximum: what is put off further is due now. And nothing happened
// later than now: what did happened now.

/** No export is put off for longer, ms: a longer `Retry-After` is heeded by the export queue that got it. */
export const longestPutOff = 600_000

const second = 1_000
const hour = 3_600 * second
const day = 24 * hour

/** The longest lease of exports, of deliveries, or of what one replica alone does, with a margin, ms. */
const longestLease = 2 * hour
/** The platform is asked again an hour later at the latest, about a silent run after a week; with a margin, ms. */
const longestUnasked = { usual: 2 * hour, silent: 8 * day }
/** Leases that are for good are further ahead than any clock was. */
export const forGood = 50 * 365 * day

/** The one parameter: the store's time, ms. */
const now = 'CAST(?1 AS bigint)'

/** In this order: what waits is known by the run's last change, which `take-snapshots.ts` bounds when it looks at the run. */
export const broughtBack: readonly string[] = [
  `UPDATE enrichment_queue SET due_at = ${now}, leased = 0
   WHERE due_at > ${now} + ${longestUnasked.silent} OR due_at > ${now} + ${longestUnasked.usual} AND (leased = 1 OR priority <> 'silent')
      OR due_at > ${now} AND leased = 0 AND run_id IN (SELECT id FROM runs WHERE due_at IS NOT NULL AND changed_at > ${now})`,
  `UPDATE job_reads SET due_at = ${now}, leased = 0
   WHERE due_at > ${now} AND (pending_since > ${now} OR due_at > ${now} + ${longestUnasked.usual})`,
  `UPDATE runs SET due_at = ${now} WHERE due_at > ${now} AND changed_at > ${now}`,
  `UPDATE runs SET changed_at = ${now} WHERE due_at IS NULL AND changed_at > ${now}`,
  `UPDATE outbox SET due_at = ${now}
   WHERE state = 'pending' AND lease IS NULL AND due_at > ${now} AND (pending_since > ${now} OR due_at > ${now} + ${longestPutOff})`,
  `UPDATE outbox SET due_at = ${now}, lease = NULL
   WHERE state = 'pending' AND lease IS NOT NULL AND due_at > ${now} + ${longestLease}`,
  `UPDATE outbox SET settled_at = ${now} WHERE state = 'dead' AND settled_at > ${now}`,
  `UPDATE inbox SET leased_until = 0 WHERE leased_until > ${now} + ${longestLease}`,
  `DELETE FROM leases WHERE until > ${now} + ${longestLease} AND until < ${now} + ${forGood}`,
  `UPDATE delivery_keys SET seen_at = ${now} WHERE seen_at > ${now}`,
  `UPDATE tombstones SET pruned_at = ${now} WHERE pruned_at > ${now}`,
  `UPDATE quarantined_deliveries SET received_at = ${now} WHERE received_at > ${now}`,
  `UPDATE test_reports SET reported_at = ${now} WHERE reported_at > ${now}`,
  `UPDATE deployments SET due_at = ${now} WHERE due_at > ${now} + ${longestUnasked.silent}`,
  `UPDATE changes SET due_at = ${now} WHERE due_at > ${now} + ${longestUnasked.usual}`,
  `UPDATE incidents SET due_at = ${now} WHERE due_at > ${now} + ${longestLease}`,
  `UPDATE flaky_tests SET found_at = ${now} WHERE found_at > ${now}`,
]
