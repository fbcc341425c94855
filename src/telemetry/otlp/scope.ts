// The instrumentation scopes: of pipelines, of job logs and reports, and of events.
import { version } from '../../lib/version.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Scope } from './messages.ts'

export const scope: Scope = { name: 'pipespan', version }

/** For job logs and reports. */
export const jobScope: Scope = { name: 'pipespan.job', version }

/** For events that are about no pipeline. */
export const eventScope: Scope = { name: 'pipespan.events', version }

/** The scope of a chunk's spans and log records; metrics are always in `scope`. */
export function scopeOf({ kind }: Pick<Chunk, 'kind'>): Scope {
  return kind === 'job' ? jobScope : scope
}
