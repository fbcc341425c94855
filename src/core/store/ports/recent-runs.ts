// The recent series of the gauges of active runs and jobs: a series that ended is sent as 0 for a while by the replica that flushes.
import { z } from 'zod'
import { shownProject } from './gauge-documents.ts'

const owner = {
  key: z.object({ instance: z.string(), projectId: z.number() }),
  project: shownProject,
}

export const recentRuns = z.object({
  /** Since when runs are counted; the store's times. */
  since: z.number(),
  seen: z.array(
    z.object({
      runs: z.object({
        ...owner,
        name: z.string().optional(),
        status: z.string(),
        count: z.number(),
      }),
      /** When it last had a run. */
      at: z.number(),
    }),
  ),
  /** The series of active jobs. */
  jobs: z
    .array(
      z.object({
        jobs: z.object({
          ...owner,
          state: z.enum(['pending', 'running']),
          workerType: z.string().optional(),
          tagSet: z.string().optional(),
          count: z.number(),
          oldest: z.number().optional(),
        }),
        at: z.number(),
      }),
    )
    .optional(),
  /** The jobs that have waited longest, and since when. */
  pending: z.array(z.object({ instance: z.string(), job: z.number(), since: z.number() })).optional(),
})
export type RecentRuns = z.infer<typeof recentRuns>
