// The shapes of the JSON API's answers about costs.
import { z } from 'zod'
import { millis, ms } from './api-units.ts'

const costSum = z.object({ totalMs: ms, cost: z.number().describe('In the currency unit of the price table.') })
const costLine = costSum.extend({
  projectId: z.number().optional(),
  project: z.string().describe('Full path; empty for a line that sums several projects.'),
  name: z.string().describe('Job, branch class or runner type.'),
  bucket: millis.optional(),
  runs: z.number(),
  lost: z
    .object({ retried: costSum, superseded: costSum, failed: costSum, flaky: costSum })
    .describe('The part that was wasted: retried, superseded, failed or flaky.'),
})

export const costs = z.object({
  span: z.string(),
  since: millis,
  until: millis,
  project: z.object({ id: z.number(), name: z.string() }).optional(),
  unit: z.string().optional().describe('Currency unit; absent without a price table.'),
  total: costLine.optional(),
  before: costLine.optional().describe('The previous period of the same length; absent unless all of it is stored.'),
  projects: z.array(costLine),
  jobs: z.array(costLine),
  branches: z.array(costLine),
  workers: z.array(costLine),
  days: z.array(costLine),
})
