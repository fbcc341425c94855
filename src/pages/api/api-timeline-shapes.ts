// The shapes of the JSON API's answers about the timeline. What is unknown is left out.
import { z } from 'zod'
import { millis } from './api-units.ts'
import { timelineKinds } from '../changes/timeline-figures.ts'

const kind = z.enum(timelineKinds)

export const timeline = z.object({
  span: z.string(),
  since: millis,
  until: millis.describe('A little later than now, because it is rounded up.'),
  project: z.string().optional(),
  kinds: z.array(kind).describe('The requested kinds that may be shown.'),
  items: z
    .array(
      z.object({
        kind,
        at: millis,
        title: z.string(),
        instance: z.string(),
        project: z.string().optional().describe('Full path of the project, or of the group.'),
        user: z.string().optional(),
        isBad: z.boolean().describe('Something failed, or an incident began.'),
        projectId: z.number().optional().describe('For deployments; also `pipelineId` and `jobId`.'),
        pipelineId: z.number().optional(),
        jobId: z.number().optional(),
      }),
    )
    .describe('Newest first.'),
  isCut: z.boolean().describe('True if older ones of the period are left out.'),
  pipelines: z
    .array(
      z.object({
        at: millis,
        projectId: z.number(),
        pipelineId: z.number(),
        project: z.string(),
        title: z.string(),
        status: z.string(),
      }),
    )
    .describe('The newest that were created in this period.'),
})
