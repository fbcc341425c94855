// When an operator last asked to retry a destination at once: replicas with an open circuit breaker read it.
import { z } from 'zod'

export const tryRequest = z.object({
  destination: z.string(),
  /** The store's time. */
  at: z.number(),
})
export type TryRequest = z.infer<typeof tryRequest>
