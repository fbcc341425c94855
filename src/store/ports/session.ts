// Who is logged in to the pages, as every replica knows it.
import { z } from 'zod'

/** Of somebody who logged in to the pages. */
export const storedSession = z.object({
  /** Of the cookie, keyed by the admin token: whoever reads the store has no cookie. */
  digest: z.string(),
  /** The store's time. */
  until: z.number(),
})
export type StoredSession = z.infer<typeof storedSession>
