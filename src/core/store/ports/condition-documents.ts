// What is known of the conditions that people are notified about, and since when each rule for notifications exists.
import { z } from 'zod'
import type { KnownCondition } from '../../../model/condition.ts'

/** The kind of the documents of conditions. */
export const conditionDocument = 'condition'

export const knownCondition = z.object({
  subject: z.string(),
  state: z.enum(['broken', 'fixed']),
  version: z.array(z.number()).readonly(),
  incident: z.object({ id: z.string(), since: z.number(), to: z.array(z.string()).readonly() }).optional(),
  /** By the store's clock. */
  changedAt: z.number(),
}) satisfies z.ZodType<KnownCondition>
export type StoredCondition = z.infer<typeof knownCondition>

/** How long a condition is remembered after its last report, ms: a test is reported as flaky once within this time. */
export const conditionLife = 100 * 24 * 3_600_000

export const notificationRule = z.object({
  name: z.string(),
  /** What happened earlier is not sent. By the store's clock. */
  since: z.number(),
})
