// The shapes of the JSON API's answers about costs.
import { z } from 'zod'
import { millis, ms } from './api-units.ts'

const costSum = z.object({ totalMs: ms, cost: z.number().describe('In the currency unit of the price table.') })
const costTotal = costSum.extend({
  runs: z.number().describe('Jobs that ran.'),
  lost: z
    .object({ retried: costSum, superseded: costSum, failed: costSum, flaky: costSum })
    .describe('The part that was wasted: retried, superseded, failed or flaky.'),
})
const costLine = costTotal.extend({
  projectId: z.number().optional(),
  project: z.string().describe('Full path; empty for a line that sums several projects.'),
  name: z
    .string()
    .describe('Job, branch class or runner type; in `retained` the branch or tag, or the runner’s description.'),
  bucket: millis.optional(),
})
const runnerLine = costLine.extend({
  runnerId: z.number().optional().describe('Absent for jobs whose runner is unknown.'),
  worker: z.string().describe('Runner type; empty if unknown.'),
})
const retained = z
  .object({
    branches: z.array(costLine).describe('By project and exact branch or tag, the most expensive.'),
    runners: z.array(runnerLine).describe('By exact runner, the most expensive.'),
    total: costTotal.describe('Everything that was counted, whether listed or not.'),
    pipelines: z.number().describe('How many stored pipelines were counted.'),
    storedSince: millis
      .optional()
      .describe(
        'When the oldest stored pipeline was created; jobs of pipelines that have been pruned are not counted.',
      ),
    backTo: millis
      .optional()
      .describe('Set if there were too many pipelines: only those created since then were counted.'),
  })
  .describe('By exact branch and runner: counted over the stored pipelines, because daily sums have neither.')

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
  retained,
})
