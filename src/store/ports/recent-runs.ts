// The recent series of the gauge of active runs: a series that ended is sent as 0 for a while by the replica that flushes.
import { z } from 'zod'

export const recentRuns = z.object({
  /** Since when runs are counted; the store's times. */
  since: z.number(),
  seen: z.array(
    z.object({
      runs: z.object({
        key: z.object({ instance: z.string(), projectId: z.number() }),
        project: z.object({
          id: z.number(),
          name: z.string().optional(),
          path: z.string().optional(),
          webUrl: z.string().optional(),
          defaultBranch: z.string().optional(),
        }),
        name: z.string().optional(),
        status: z.string(),
        count: z.number(),
      }),
      /** When it last had a run. */
      at: z.number(),
    }),
  ),
})
export type RecentRuns = z.infer<typeof recentRuns>
