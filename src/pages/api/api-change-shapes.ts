// The shapes of the JSON API's answers about changes (merge requests). What is unknown is left out.
import { z } from 'zod'
import { changeStates } from '../../model/change.ts'
import { millis, ms } from './api-units.ts'

const place = { instance: z.string(), projectId: z.number(), project: z.string() }
const times = {
  merged: z.number().describe('Merged in this period.'),
  timeToMerge: ms.optional().describe('Median from creation to merge, in ms.'),
  timeToApproval: ms.optional().describe('Median from creation to first approval, in ms.'),
  timeToFirstPipeline: ms
    .optional()
    .describe('Median from creation to the creation of the first merge request pipeline, in ms.'),
}
const open = z.number().describe('Open now, including drafts.')

export const changes = z.object({
  span: z.string(),
  since: millis,
  project: z.string().optional(),
  total: z.object({ open, ...times }),
  projects: z.array(z.object({ ...place, open, ...times })).describe('Most merges first.'),
  days: z
    .array(z.object({ at: millis, merged: z.number(), timeToMerge: ms.optional() }))
    .describe('Days in UTC, without days that have no merge.'),
  changes: z
    .array(
      z.object({
        ...place,
        iid: z.number(),
        url: z.string().optional(),
        at: millis.describe('When it last changed.'),
        state: z.enum(changeStates),
        title: z.string().optional(),
        head: z.string().optional().describe('The source branch.'),
        base: z.string().optional().describe('The target branch.'),
        createdAt: millis.optional(),
        stateAt: millis.optional().describe('When it was last opened, closed, reopened or merged.'),
        approvedAt: millis.optional().describe('Its first approval.'),
        mergedAt: millis.optional(),
        pipeline: z
          .object({ id: z.number(), projectId: z.number(), createdAt: millis })
          .optional()
          .describe('Its first pipeline.'),
      }),
    )
    .describe('Newest first.'),
})
