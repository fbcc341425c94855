// What was asked about one thing that the platform has: when it is asked about again, what the platform refuses, and what a round leaves
// for the next. It shows people what the platform offers.
import { z } from 'zod'

/** The store's times. */
export const inventoryState = z.object({
  instance: z.string(),
  /** The collector: `agents`; `query` for one of the configuration's. */
  kind: z.string(),
  /** What it is asked about, as configured. */
  of: z.string(),
  /** As the platform knows it, and since when: it is looked up again once a day. */
  owner: z.unknown().optional(),
  ownerAt: z.number().optional(),
  /** When the platform answered last. */
  answeredAt: z.number().optional(),
  /** Not before then. */
  nextAt: z.number(),
  /** Rounds without an answer since the last one. */
  failures: z.number(),
  /** Why the last round had no answer. */
  refusal: z
    .object({
      status: z.number().optional(),
      /** What is wrong, and what it would take. */
      message: z.string(),
      /** It does not pass by itself: asked again once a day. */
      lasts: z.boolean(),
    })
    .optional(),
  /** Left by the round before, for the next. */
  memory: z.unknown().optional(),
})
export type InventoryState = z.infer<typeof inventoryState>
