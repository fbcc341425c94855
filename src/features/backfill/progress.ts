// How far backfills have come: stored, so that one that was interrupted continues.
import { z } from 'zod'
import { documentKind } from '../../core/store/ports/repository.ts'

/** A backfill under way. Times are the platform's. */
export const progressShape = z.object({
  instance: z.string(),
  /** Derived from the command's options, so that the same command continues it. */
  name: z.string(),
  since: z.number(),
  until: z.number(),
  startedAt: z.number(),
  /** The pipelines of the token's user are done. */
  own: z.literal('read').optional(),
  /** Projects up to this id are done. */
  after: z.number(),
  /** How far the next one has been read. */
  seen: z.number().optional(),
})
export type BackfillProgress = z.infer<typeof progressShape>

export const backfillProgress = documentKind('backfill', progressShape, ['instance', 'name'])
