// How far the reading of incidents has come. Times are the platform's.
import { z } from 'zod'

export const incidentCursor = z.object({
  instance: z.string(),
  /** When the incident that was read last had changed. */
  at: z.number(),
})
export type IncidentCursor = z.infer<typeof incidentCursor>
