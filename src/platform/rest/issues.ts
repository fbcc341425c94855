// Issues in lists: only what incidents need, never titles or texts.
import { z } from 'zod'
import { known } from '../known.ts'
import { maybe, wireId, wireText, wireTime } from './wire-field.ts'
import type { Millis } from '../../model/instant.ts'

export interface RestIssue {
  readonly iid: number
  readonly projectId: number
  readonly state: string
  readonly updatedAt: Millis
  readonly openedAt?: Millis | undefined
  readonly closedAt?: Millis | undefined
  readonly severity?: string | undefined
  /** Path of its project, from its full reference. */
  readonly path?: string | undefined
}

export const restIssue = z
  .object({
    iid: wireId,
    project_id: wireId,
    state: wireText,
    updated_at: wireTime,
    created_at: maybe(wireTime),
    closed_at: maybe(wireTime),
    severity: maybe(wireText),
    references: maybe(z.object({ full: maybe(wireText) })),
  })
  .transform((issue): RestIssue => ({
    ...{ iid: issue.iid, projectId: issue.project_id, state: issue.state, updatedAt: issue.updated_at },
    ...known({
      openedAt: issue.created_at,
      closedAt: issue.closed_at,
      severity: issue.severity,
      path: issue.references?.full?.replace(/#\d+$/, ''),
    }),
  }))
