// The instrumentation scopes: of everything that pipelines become, of what is inside of their jobs, and of events around them.
import { version } from '../../lib/version.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Scope } from './messages.ts'

export const scope: Scope = { name: 'pipespan', version }

/** Of what was read about the inside of jobs. */
export const jobScope: Scope = { name: 'pipespan.job', version }

/** Of events that are about no pipeline. */
export const eventScope: Scope = { name: 'pipespan.events', version }

/** Of a chunk's spans and log records; metrics are always in the first. */
export function scopeOf({ kind }: Pick<Chunk, 'kind'>): Scope {
  return kind === 'job' ? jobScope : scope
}
