// The shapes of the JSON API's answers about deployments. What is unknown is left out.
import { z } from 'zod'
import { millis, ms } from './api-units.ts'

const place = {
  instance: z.string(),
  projectId: z.number(),
  project: z.string(),
  tier: z.string().optional(),
}

const deployment = z.object({
  ...place,
  environment: z.string().optional(),
  status: z.string().describe("The platform's word."),
  outcome: z.enum(['succeeded', 'failed']).optional(),
  at: millis,
  startedAt: millis.optional(),
  finishedAt: millis.optional(),
  revision: z.string().optional(),
  committedAt: millis.optional(),
  ref: z.string().optional(),
  user: z.string().optional(),
  deploymentId: z.number().optional(),
  jobId: z.number().optional(),
  pipelineId: z.number().optional(),
  isRollback: z.literal(true).optional(),
  recovery: ms.optional(),
})

export const environments = z.object({
  span: z.string(),
  since: millis,
  project: z.string().optional(),
  environments: z.array(
    z.object({
      ...place,
      environment: z.string(),
      current: deployment.optional().describe('The last deployment that succeeded.'),
      keys: z.object({
        deployments: z.number().describe('That ended within the time, and were counted.'),
        failed: z.number(),
        rollbacks: z.number(),
        perDay: z.number().describe('Deployments that succeeded, a day.'),
        leadTime: ms.optional().describe('The median over commits, ms.'),
        failureRate: z.number().optional().describe('Failed and rolled back, as a share of all.'),
        recovery: ms.optional().describe('The median, ms.'),
      }),
    }),
  ),
  deployments: z.array(deployment).describe('The latest first.'),
})
