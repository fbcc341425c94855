// The outcome of reading a job's log or one of its reports, and how it is stored. Each kind has its own reader.
import { routed, subjectOf, type Route } from '../../model/route.ts'
import { insideChunks } from '../../model/inside-chunks.ts'
import type { JobInside } from '../../model/inside.ts'
import type { CallOptions } from '../../platform/port.ts'
import type { Chunk, JobSnapshot } from '../../model/chunk.ts'
import type { InsideOf } from '../../core/store/ports/reporter.ts'
import type { JobTests } from '../../model/job-tests.ts'
import { claimOf, type JobRead } from './queue.ts'
import type { Reports, RunWork } from '../../core/store/ports/runs.ts'
import type { Signal } from '../../core/store/ports/outbox.ts'
import type { ProjectIncrements } from '../../model/totals.ts'

export type Reading =
  /** What to export, in chunks that each fit one request; may be empty. */
  | { readonly as: 'read'; readonly insides: readonly JobInside[] }
  /** Not complete yet: to be read again after `ms`. `isUnasked`: the platform was not asked. */
  | { readonly as: 'early'; readonly ms: number; readonly isUnasked?: true }
  /** It does not have to be read; the platform was not asked. */
  | { readonly as: 'needless' }

/** Reads one thing about a job. Rejects with a PlatformError, or with the reason of an aborted signal. */
export type JobReading = (read: JobRead, job: JobSnapshot, call: CallOptions) => Promise<Reading>

export interface InsideOutlets {
  /** The export queues that chunks are put into. */
  readonly to: readonly Route<Signal>[]
  /** What a chunk adds to its project's totals; undefined: no totals are kept. */
  readonly measure: ((chunk: Chunk) => ProjectIncrements | undefined) | undefined
  /** What features report about a chunk. */
  readonly reports?: ((chunk: Chunk, of: InsideOf) => readonly Reports[]) | undefined
}

/** Stores what was read, and removes the entry from the queue, in one transaction. */
export function applyReading(
  read: JobRead,
  insides: readonly JobInside[],
  { to, measure, reports }: InsideOutlets,
): RunWork {
  const { chunk } = read
  return {
    ...{ key: chunk.key, jobs: [], claim: claimOf(read) },
    decide: known => {
      const made = known && insideChunks(known.run, chunk, insides)
      if (known === undefined || made === undefined || insides.length === 0) return undefined
      const { run, chunks } = made
      const addressed = chunks.map(one => {
        const signals = one.inside === undefined ? [] : signalsOf(one.inside)
        return { chunk: one, to: routed(to, subjectOf(one)).filter(({ signal }) => signals.includes(signal)) }
      })
      return {
        ...{ run, timing: known.timing },
        pending: addressed.filter(one => one.to.length > 0),
        reports: addressed.flatMap(one => reports?.(one.chunk, { isSent: one.to.length > 0 }) ?? []),
        totals: measure === undefined ? [] : chunks.flatMap(one => measure(one) ?? []),
      }
    },
  }
}

/** The signals that a chunk contributes to. */
function signalsOf({ sections, lines, tests, report, ownSpans }: JobInside): Signal[] {
  if (tests !== undefined) return testSignals(tests)
  if (report !== undefined) return [report.dotenv === undefined ? 'metrics' : 'logs']
  if (ownSpans !== undefined) return ['traces']
  const signals: Signal[] = []
  if (sections !== undefined && sections.length > 0) signals.push('traces', 'metrics')
  if (lines !== undefined && lines.length > 0) signals.push('logs')
  return signals
}

function testSignals({ summary, failures = [], flaky = [], spans = [] }: JobTests): Signal[] {
  const signals: Signal[] = []
  if (spans.length > 0) signals.push('traces')
  if (summary !== undefined) signals.push('metrics')
  if (summary !== undefined || failures.length + flaky.length > 0) signals.push('logs')
  return signals
}
