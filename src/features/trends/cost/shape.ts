// The shapes of costs on the pages and in the JSON API.
import { z } from 'zod'
import { groupsShape } from '../../../console/layout/groups.ts'
import { millis, ms, own as ownShape, span as spanShape, type Shaped } from '../../../console/layout/shape.ts'

const costSumShape = z.object({
  totalMs: ms,
  cost: z.number().describe('Cost in the currency unit of the price table.'),
})
const costTotalShape = costSumShape.extend({
  runs: z.number().describe('Number of jobs that ran.'),
  wasted: z
    .object({ retried: costSumShape, superseded: costSumShape, failed: costSumShape })
    .describe('The part that was wasted: retried, superseded or failed.'),
})
const costLineShape = costTotalShape.extend({
  instance: z.string().optional().describe('Base URL of the platform; absent for a line that sums several projects.'),
  projectId: z.number().optional(),
  project: z.string().describe('Full path; empty if the sums cover several projects.'),
  name: z
    .string()
    .describe('Job, branch class or runner type; in `retained` the branch or tag, or the runner’s description.'),
  bucket: millis.optional(),
})
const runnerLineShape = costLineShape.extend({
  runnerId: z.number().optional().describe('Absent for jobs whose runner is unknown.'),
  worker: z.string().describe('Runner type; empty if unknown.'),
})
const retainedShape = z
  .object({
    branches: z.array(costLineShape).describe('The most expensive branches and tags, each with its project.'),
    runners: z.array(runnerLineShape).describe('The most expensive runners.'),
    total: costTotalShape.describe('Sum of everything that was counted, whether listed or not.'),
    pipelines: z.number().describe('How many stored pipelines were counted.'),
    storedSince: millis
      .optional()
      .describe(
        'When the oldest stored pipeline was created; jobs of pipelines that have been pruned are not counted.',
      ),
    backTo: millis
      .optional()
      .describe('Set if there were too many pipelines: only pipelines created since this time were counted.'),
  })
  .describe(
    'Sums by exact branch and by runner, with `exact=true`. They only cover stored pipelines, because daily sums contain neither.',
  )

export const costsShape = z.object({
  span: spanShape,
  since: millis,
  until: millis,
  instance: z.string().optional().describe('Base URL of the platform, if one was asked for.'),
  project: z.object({ id: z.number(), name: z.string() }).optional(),
  group: z.string().optional().describe('The group whose projects are counted.'),
  own: ownShape,
  unit: z.string().optional().describe('Currency unit; absent without a price table.'),
  total: costLineShape.optional(),
  before: costLineShape
    .optional()
    .describe('The previous period of the same length; absent unless all of it is stored.'),
  ...groupsShape(costLineShape),
  projects: z.array(costLineShape),
  jobs: z.array(costLineShape),
  branches: z.array(costLineShape),
  workers: z.array(costLineShape),
  days: z.array(costLineShape),
  retained: retainedShape.optional(),
})

export type CostSum = Shaped<typeof costSumShape>
/** The total cost of one group. */
export type CostLine = Shaped<typeof costLineShape>
export type RunnerCostLine = Shaped<typeof runnerLineShape>
export type RetainedCosts = Shaped<typeof retainedShape>
export type Costs = Shaped<typeof costsShape>
