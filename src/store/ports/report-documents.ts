// The metric names in the reports of a project's jobs. Users choose them, and each becomes a metric, so their number is limited.
import { z } from 'zod'

export const reportedNames = z.object({
  instance: z.string(),
  project: z.number(),
  /** In the order in which they were first seen. */
  names: z.array(z.string()),
})
export type ReportedNames = z.infer<typeof reportedNames>
