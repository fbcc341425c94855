// What the platform does not offer of what is read about the inside of jobs, and of audit events: remembered for a day, so that it is not
// asked in vain again and again, and shown to people.
import { z } from 'zod'
import type { Millis } from '../../model/instant.ts'

/** The store's times. */
export const refusedEndpoint = z.object({
  instance: z.string(),
  /** What is asked for: as `JobReadable` has it; of audit events with whose they are. */
  what: z.string(),
  /** 0: whatever the project. */
  project: z.number(),
  /** Its full path, as last known; of audit events whose they are. */
  path: z.string().optional(),
  status: z.number().optional(),
  /** What is wrong, and what it would take. */
  message: z.string(),
  /** Refusals without an answer between them. */
  times: z.number(),
  /** Since when it is not asked any more; absent while it still is. */
  since: z.number().optional(),
})
export type RefusedEndpoint = z.infer<typeof refusedEndpoint>

/** So begins what is asked for of those; then follows whose. */
export const auditEvents = 'audit events'

/** After so long it is asked for again, ms. */
export const refusedFor = 86_400_000

/** True while it is not asked for, because it was refused. */
export function isInForce(refused: RefusedEndpoint | undefined, now: Millis): boolean {
  const age = refused?.since === undefined ? undefined : now - refused.since
  return age !== undefined && age >= 0 && age < refusedFor
}
