// Where a destination sends one signal. What is pending was accepted for that endpoint, and not for whatever the name means later.
import { z } from 'zod'

const endpoint = z.object({
  /** Distinguishes endpoints. */
  mark: z.string(),
  /** The endpoint as it may be shown; empty for one that is a secret. */
  shown: z.string(),
})

export const exportEndpoint = z.object({
  destination: z.string(),
  signal: z.string(),
  ...endpoint.shape,
  /** Earlier ones, newest first. */
  former: z.array(endpoint),
})
export type ExportEndpoint = z.infer<typeof exportEndpoint>
