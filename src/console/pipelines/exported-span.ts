// A span as it is sent, for the pages of pipelines, jobs and dead letters.
import { z } from 'zod'
import { millis, type Shaped } from '../layout/shape.ts'

export const exportedSpanShape = z.object({
  attempt: z.number(),
  name: z.string(),
  kind: z.enum(['pipeline', 'job']),
  jobId: z.number().optional(),
  traceId: z.string(),
  spanId: z.string(),
  start: millis,
  end: millis,
  attributes: z.record(z.string(), z.unknown()),
  resource: z.record(z.string(), z.unknown()),
})
export type ExportedSpan = Shaped<typeof exportedSpanShape>
