// What the platform does not offer of what is read about the inside of jobs: remembered for a day, so that it is not asked in vain for
// each job, and shown to people.
import { z } from 'zod'

/** The store's times. */
export const refusedEndpoint = z.object({
  instance: z.string(),
  /** What is asked for: as `JobReadable` has it. */
  what: z.string(),
  /** 0: whatever the project. */
  project: z.number(),
  /** Its full path, as last known. */
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
