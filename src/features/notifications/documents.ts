// The stored state of the conditions that people are notified about, and the creation time of each rule. All times are by the store's clock.
import { z } from 'zod'
import { documentKind } from '../../core/store/ports/repository.ts'
import type { KnownCondition } from './incident.ts'

export const knownCondition = z.object({
  subject: z.string(),
  state: z.enum(['broken', 'fixed']),
  version: z.array(z.number()).readonly(),
  incident: z.object({ id: z.string(), since: z.number(), to: z.array(z.string()).readonly() }).optional(),
  changedAt: z.number(),
}) satisfies z.ZodType<KnownCondition>
export type StoredCondition = z.infer<typeof knownCondition>

/** How long a condition is kept after its last report, ms. Within this time, each test is reported as flaky only once. */
export const conditionRetention = 100 * 24 * 3_600_000

/** The documents of known conditions. `condition-reporter.ts` writes them in the transaction that reports the condition. */
export const knownConditions = documentKind('condition', knownCondition, ['subject'])
/** The documents of notification rules, written when a daemon starts. Messages about events before `since` are not sent. */
export const rules = documentKind('notification-rule', z.object({ name: z.string(), since: z.number() }), ['name'])
