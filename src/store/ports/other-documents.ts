// What else is remembered in small documents: who is logged in, which runs were under way lately, which copy of a store was begun.
import { z } from 'zod'

/** Of somebody who logged in to the pages. */
export const storedSession = z.object({
  /** Of the cookie, keyed by the admin token: whoever reads the store has no cookie. */
  digest: z.string(),
  /** The store's time. */
  until: z.number(),
})
export type StoredSession = z.infer<typeof storedSession>

/** Series of runs under way, and those that ended of late. */
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
      /** When there was one last. */
      at: z.number(),
    }),
  ),
})
export type RecentRuns = z.infer<typeof recentRuns>

/** Stands in the source of a copy until a daemon serves it again: from then on that copy cannot be continued. */
export const storeCopy = z.object({ holder: z.string() })
export type StoreCopy = z.infer<typeof storeCopy>
