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
  status: z.string().describe('As the platform reports it.'),
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
      current: deployment.optional().describe('The last successful deployment.'),
      keys: z.object({
        deployments: z.number().describe('Deployments that ended in this period.'),
        failed: z.number(),
        rollbacks: z.number(),
        perDay: z.number().describe('Successful deployments per day.'),
        leadTime: ms.optional().describe('Median over commits, in ms.'),
        failureRate: z.number().optional().describe('Failed or rolled back, as a share of all deployments.'),
        recovery: ms.optional().describe('Median, in ms.'),
      }),
    }),
  ),
  incidents: z
    .array(
      z.object({
        instance: z.string(),
        projectId: z.number(),
        project: z.string(),
        opened: z.number().describe('Opened in this period.'),
        open: z.number().describe('Open now, whenever they were opened.'),
        restored: ms.optional().describe('Median from opening to closing, of those opened in this period, in ms.'),
        perDeployment: z.number().optional().describe('Incidents opened per successful deployment to production.'),
      }),
    )
    .describe('By project.'),
  deployments: z.array(deployment).describe('Newest first.'),
})

export const behind = z.object({
  project: z.string(),
  environment: z.string(),
  revision: z.string().optional(),
  deployedAt: millis.optional(),
  branch: z.string().optional().describe('The default branch.'),
  url: z.string().optional().describe('Where the platform shows the commits.'),
  answer: z.discriminatedUnion('as', [
    z.strictObject({
      as: z.literal('counted'),
      commits: z.number().describe('Commits of the branch that the deployed revision does not have.'),
      isAll: z.boolean().describe('False if there are more.'),
    }),
    z.strictObject({
      as: z.literal('refused').describe('The platform did not say.'),
      what: z.string(),
      remedy: z.string(),
    }),
  ]),
})
