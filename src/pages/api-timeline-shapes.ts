// The shapes of the JSON API's answers about what happened around pipelines. What is unknown is left out.
import { z } from 'zod'
import { millis } from './api-units.ts'
import { timelineKinds } from './timeline-figures.ts'

const kind = z.enum(timelineKinds)

export const timeline = z.object({
  span: z.string(),
  since: millis,
  until: millis.describe('A little later than now: it moves by a few minutes, or hours, at a time.'),
  project: z.string().optional(),
  kinds: z.array(kind).describe('What was asked for and may be seen.'),
  items: z
    .array(
      z.object({
        kind,
        at: millis,
        title: z.string(),
        instance: z.string(),
        project: z.string().optional().describe('Full path; of what is about a group, the path of that.'),
        user: z.string().optional(),
        isBad: z.boolean().describe('Something failed, or an incident began.'),
        projectId: z.number().optional().describe('Of a deployment, as are the next two.'),
        pipelineId: z.number().optional(),
        jobId: z.number().optional(),
      }),
    )
    .describe('The newest first.'),
  isCut: z.boolean().describe('Older ones of the same time are left out.'),
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
    .describe('The newest that were created in the time.'),
})
