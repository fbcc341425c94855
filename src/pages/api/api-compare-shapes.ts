// The shape of the JSON API's answer that compares two runs.
import { z } from 'zod'
import { comparedNames } from '../pipelines/compared-with.ts'
import { ms } from './api-units.ts'
import { outcomeChanges } from '../pipelines/comparison.ts'
import { pipeline, usual } from './api-run-shapes.ts'

const side = z.object({
  id: z.number().optional(),
  status: z.string().optional(),
  tries: z.number().describe('How often it ran; above 1 it was retried.'),
  ranMs: ms.optional(),
  queuedMs: ms.optional(),
  critical: z.boolean(),
})

export const comparedRuns = z.object({
  with: z.union([z.enum(comparedNames), z.number()]),
  pipeline,
  other: pipeline.optional().describe('Absent: there is none, or it is compared with what is usual.'),
  usual: usual.optional(),
  comparison: z
    .object({
      hereMs: ms.optional(),
      thereMs: ms.optional(),
      deltaMs: ms.optional(),
      jobs: z.array(
        z.object({
          name: z.string(),
          stage: z.string(),
          here: side.optional(),
          there: side.optional(),
          change: z.enum(outcomeChanges),
          ranDeltaMs: ms.optional(),
          queuedDeltaMs: ms.optional(),
        }),
      ),
      parts: z
        .array(
          z.object({
            part: z.enum(['ran', 'waited', 'end']),
            name: z.string().optional(),
            stage: z.string().optional(),
            hereMs: ms.optional(),
            thereMs: ms.optional(),
            deltaMs: ms,
          }),
        )
        .describe('How the parts of their critical paths differ. The differences add up to `deltaMs`.'),
    })
    .optional()
    .describe('Absent: there is nothing to compare with.'),
})
