// Sessions of the pages, shared by all replicas.
import { z } from 'zod'

export const storedSession = z.object({
  /** HMAC of the cookie with the admin token, so that the cookie cannot be read from the store. */
  digest: z.string(),
  /** The store's time. */
  until: z.number(),
})
export type StoredSession = z.infer<typeof storedSession>
