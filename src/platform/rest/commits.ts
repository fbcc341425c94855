// Commits: only their ids and times, never messages or authors.
import { z } from 'zod'
import { known } from '../known.ts'
import { maybe, wireText, wireTime } from './wire-field.ts'
import type { Millis } from '../../model/instant.ts'

export interface RestCommit {
  readonly id: string
  readonly authoredAt?: Millis | undefined
  readonly committedAt?: Millis | undefined
}

export const restCommit = z
  .object({ id: wireText, authored_date: maybe(wireTime), committed_date: maybe(wireTime) })
  .transform(({ id, authored_date: authoredAt, committed_date: committedAt }): RestCommit => ({
    id,
    ...known({ authoredAt, committedAt }),
  }))
