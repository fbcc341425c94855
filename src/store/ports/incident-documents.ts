// How far incidents have been read. Times are the platform's.
import { z } from 'zod'

export const incidentCursor = z.object({
  instance: z.string(),
  /** The `updated_at` of the last incident that was read. */
  at: z.number(),
})
export type IncidentCursor = z.infer<typeof incidentCursor>
