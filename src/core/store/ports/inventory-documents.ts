// The state of one thing that is asked about: when it is due next, what was refused, and what one round hands to the next. A page shows it.
import { z } from 'zod'
import { shownProject } from './gauge-documents.ts'

/** The store's times. */
export const inventoryState = z.object({
  instance: z.string(),
  /** The collector: `agents`, …; `query` for a configured query. */
  kind: z.string(),
  /** The project, group or query, as configured. */
  of: z.string(),
  /** The project or group as the platform reports it, and when that was: it is looked up again once a day. */
  owner: z.object({ project: shownProject.optional(), group: z.object({ path: z.string() }).optional() }).optional(),
  ownerAt: z.number().optional(),
  /** When the platform answered last. */
  answeredAt: z.number().optional(),
  /** Points of the last answer beyond the maximum, which are not exported. */
  omitted: z.number().optional(),
  /** When it is due. */
  nextAt: z.number(),
  /** Rounds without an answer in a row. */
  failures: z.number(),
  /** Why the last round had no answer, or what its answers lacked. */
  refusal: z
    .object({
      status: z.number().optional(),
      /** What is wrong, and what would help. */
      message: z.string(),
      /** It will not pass by itself, so the request is tried only once a day. */
      lasts: z.boolean(),
    })
    .optional(),
  /** What the last round hands to the next. */
  memory: z.unknown().optional(),
})
export type InventoryState = z.infer<typeof inventoryState>
