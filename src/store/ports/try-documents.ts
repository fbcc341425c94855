// When somebody last asked that what waits for a destination is tried now: replicas with an open circuit breaker read it.
import { z } from 'zod'

export const tryRequest = z.object({
  destination: z.string(),
  /** The store's time. */
  at: z.number(),
})
export type TryRequest = z.infer<typeof tryRequest>
