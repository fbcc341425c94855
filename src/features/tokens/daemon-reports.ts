// Waits until every running daemon has reported that it sends the new token, or until the grace period is over.
import type { RotationOptions, RotationParts, RotationSession } from './rotation-session.ts'
import type { TokenReport } from './rotation-store.ts'

/** The result of waiting. `seen` means that every daemon uses the new token, or that there are no reports and the whole grace period has passed. */
export type Waited = { readonly kind: 'seen' } | { readonly kind: 'missing'; readonly daemons: readonly string[] }

/**
 * Waits for the daemons' reports. `fingerprint` is the fingerprint of the new token, `older` are the fingerprints of earlier tokens, and `since` is
 * the time at which the target was written, Unix ms. If the store does not respond, the reports count as missing. If no daemon reports to the store,
 * the rotation waits as if there were no store.
 */
export async function waitForDaemons(
  { parts, timing, options, target }: RotationSession,
  fingerprint: string,
  older: readonly string[],
  since: number,
): Promise<Waited> {
  const { clock, store } = parts
  // `since` is limited to the current time, because the clock may have been ahead when the target was written.
  const begun = Math.min(since, clock.now())
  const untilWithoutReports = begun + Math.max(options.graceMs, parts.target.minGraceMs)
  const until = begun + options.graceMs
  for (;;) {
    const reports = await store?.tokenReports().catch(() => undefined)
    const missing =
      store === undefined ? [] : reports === undefined ? ['the store'] : lagging(reports, fingerprint, older)
    const hasNoReports = store === undefined || reports?.length === 0
    if (!hasNoReports && missing.length === 0) return { kind: 'seen' }
    const end = hasNoReports ? untilWithoutReports : until
    const now = clock.now()
    if (now >= end) return missing.length === 0 ? { kind: 'seen' } : { kind: 'missing', daemons: missing }
    await clock.sleep(Math.min(timing.pollMs, end - now))
    await target.renew()
  }
}

/** Describes what the rotation waits for, as the rest of a sentence that begins with "Wait" or "Waiting". */
export async function expectation(
  { store, target }: RotationParts,
  { graceMs, force }: RotationOptions,
): Promise<string> {
  const reports = await store?.tokenReports().catch(() => undefined)
  const daemons = new Set(reports?.map(report => report.daemon))
  if (store === undefined || reports?.length === 0) {
    return `${Math.max(graceMs, target.minGraceMs) / 1000} s: there are no daemon reports on the use of the new token.`
  }
  const reporters = daemons.size === 0 ? 'the store responds and the daemons that it lists' : [...daemons].join(', ')
  const end = force ? 'the older ones are revoked anyway' : 'the older ones stay valid (exit code 3)'
  return `until ${reporters} report the new token; if any does not within ${graceMs / 1000} s, ${end}.`
}

/** Returns the daemons that do not use the new token, or still use an older one. A daemon may also have tokens for other destinations. */
function lagging(reports: readonly TokenReport[], fingerprint: string, older: readonly string[]): readonly string[] {
  const daemons = Map.groupBy(reports, report => report.daemon)
  return [...daemons]
    .filter(([, own]) => {
      const used = own.map(report => report.tokenFingerprint)
      return !used.includes(fingerprint) || used.some(token => older.includes(token))
    })
    .map(([daemon]) => daemon)
}
