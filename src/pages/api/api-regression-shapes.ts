// The shapes of the JSON API's answers about regressions.
import { z } from 'zod'
import { regression as document } from '../../store/ports/regression-documents.ts'
import { millis } from './api-units.ts'

export const regression = document.omit({ span: true, announced: true })

export const regressions = z.object({ regressions: z.array(regression) })

export const preview = z.object({
  project: z.string().optional().describe('Full path; absent without figures of the last month.'),
  rule: z.object({
    slower: z.number().describe('Percent.'),
    slowerBy: z.number().describe('Seconds.'),
    failing: z.number().describe('Percentage points.'),
  }),
  pipelines: z.number().describe('Number of stored pipelines that were read.'),
  backTo: millis.optional(),
  found: z.array(regression),
})
