// The shapes of the JSON API's answers about changes (merge requests). What is unknown is left out.
import { z } from 'zod'
import { changeStates } from '../model/change.ts'
import { millis, ms } from './api-units.ts'

const place = { instance: z.string(), projectId: z.number(), project: z.string() }
const times = {
  merged: z.number().describe('That were merged within the time, and were counted.'),
  timeToMerge: ms.optional().describe('The median from the creation to the merge, ms.'),
  timeToApproval: ms.optional().describe('The median from the creation to the first approval, ms.'),
  timeToFirstPipeline: ms
    .optional()
    .describe('The median from the creation to the creation of the first merge request pipeline, ms.'),
}
const open = z.number().describe('Now, drafts too.')

export const changes = z.object({
  span: z.string(),
  since: millis,
  project: z.string().optional(),
  total: z.object({ open, ...times }),
  projects: z.array(z.object({ ...place, open, ...times })).describe('Those with most merges first.'),
  days: z
    .array(z.object({ at: millis, merged: z.number(), timeToMerge: ms.optional() }))
    .describe('Of UTC; those without a merge are left out.'),
  changes: z
    .array(
      z.object({
        ...place,
        iid: z.number(),
        url: z.string().optional(),
        at: millis.describe('When something of it last happened.'),
        state: z.enum(changeStates),
        title: z.string().optional(),
        head: z.string().optional().describe('The source branch.'),
        base: z.string().optional().describe('The target branch.'),
        createdAt: millis.optional(),
        stateAt: millis.optional().describe('When it was last opened, closed, reopened or merged.'),
        approvedAt: millis.optional().describe('The first approval.'),
        mergedAt: millis.optional(),
        pipeline: z
          .object({ id: z.number(), projectId: z.number(), createdAt: millis })
          .optional()
          .describe('The first.'),
      }),
    )
    .describe('Newest first.'),
})
