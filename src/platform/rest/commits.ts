// The schema of commits. Only their times are read, never IDs, messages or authors.
import { z } from 'zod'
import { known } from '../known.ts'
import { maybe, wireTime } from './wire-field.ts'
import type { Commit } from '../port.ts'

export const restCommit = z
  .object({ authored_date: maybe(wireTime), committed_date: maybe(wireTime) })
  .transform(({ authored_date: authoredAt, committed_date: committedAt }): Commit => known({ authoredAt, committedAt }))
