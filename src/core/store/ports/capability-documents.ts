// Requests about jobs, bridges, the inside of jobs, or audit events that the platform refused, because it lacks the feature or
// the token lacks the permission. Stored for a day, so that they are not repeated in vain, and shown on a page.
import { z } from 'zod'
import type { Millis } from '../../../model/instant.ts'

/** The store's times. */
export const refusedEndpoint = z.object({
  instance: z.string(),
  /** `jobs` or `bridges` of pipelines, a `JobReadable`, `commits`, or `auditEvents` followed by their source. */
  what: z.string(),
  /** 0: all projects. */
  project: z.number(),
  /** Its full path, as last known; of audit events their source. */
  path: z.string().optional(),
  status: z.number().optional(),
  /** What is wrong, and what would help. */
  message: z.string(),
  /** Refusals in a row. */
  times: z.number(),
  /** Since when it is no longer requested; absent while it is requested. */
  since: z.number().optional(),
})
export type RefusedEndpoint = z.infer<typeof refusedEndpoint>

/** The prefix of `what` for audit events. */
export const auditEvents = 'audit events'

/** After this it is requested again, ms. */
export const refusedFor = 86_400_000

/** True while it is not requested because it was refused. */
export function isInForce(refused: RefusedEndpoint | undefined, now: Millis): boolean {
  const age = refused?.since === undefined ? undefined : now - refused.since
  return age !== undefined && age >= 0 && age < refusedFor
}
