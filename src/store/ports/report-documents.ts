// Which names of metrics the reports of a project's jobs have used: users choose them, and each name is a metric for as long as totals are stored.
import { z } from 'zod'

export const reportedNames = z.object({
  instance: z.string(),
  project: z.number(),
  /** In the order in which they came; no more than there is room for. */
  names: z.array(z.string()),
})
export type ReportedNames = z.infer<typeof reportedNames>
