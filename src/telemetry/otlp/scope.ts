// The instrumentation scopes: of pipelines, of job logs and reports, of spans that a job made itself, and of events.
import { version } from '../../lib/version.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Scope } from './messages.ts'

export const scope: Scope = { name: 'pipespan', version }

/** For job logs and reports. */
const jobScope: Scope = { name: 'pipespan.job', version }

/** For spans that a job made itself: whatever they are called, they are not ours. */
const ownScope: Scope = { name: 'pipespan.job.own', version }

/** For events that are about no pipeline. */
export const eventScope: Scope = { name: 'pipespan.events', version }

/** The scope of a chunk's spans and log records; metrics are always in `scope`. */
export function scopeOf({ kind, inside }: Pick<Chunk, 'kind' | 'inside'>): Scope {
  if (inside?.ownSpans !== undefined) return ownScope
  return kind === 'job' ? jobScope : scope
}
