// The outcome of reading a job's log or one of its reports, and how that outcome is stored. Each kind has its own reader.
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
  /** The log or report was read. `insides` are the chunks to export, each small enough for one request; there may be none. */
  | { readonly as: 'read'; readonly insides: readonly JobInside[] }
  /** The log or report is not complete yet, and is read again after `ms`. `sentNothing` means that no request was sent to the platform. */
  | { readonly as: 'early'; readonly ms: number; readonly sentNothing?: true }
  /** The log or report need not be read. No request was sent to the platform. */
  | { readonly as: 'needless' }

/** Reads one log or report of a job. Rejects with a PlatformError, or with the reason of an aborted signal. */
export type JobReading = (read: JobRead, job: JobSnapshot, call: CallOptions) => Promise<Reading>

export interface InsideOutlets {
  /** The export queues that the chunks are added to. */
  readonly to: readonly Route<Signal>[]
  /** Whether a destination takes the totals of a project. Totals are sent without a queue. */
  readonly takesTotals?: Route['takes']
  /** Returns the amounts that a chunk adds to its project's totals. Undefined if there are no totals. */
  readonly measure: ((chunk: Chunk) => ProjectIncrements | undefined) | undefined
  /** Returns the reports about a chunk for other features. */
  readonly reports?: ((chunk: Chunk, of: InsideOf) => readonly Reports[]) | undefined
}

/** Stores the result of a read and removes its entry from the queue, in one transaction. */
export function applyReading(
  read: JobRead,
  insides: readonly JobInside[],
  { to, takesTotals, measure, reports }: InsideOutlets,
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
        const subject = subjectOf(one)
        const queues = routed(to, subject).filter(({ signal }) => signals.includes(signal))
        const isCounted = signals.includes('metrics') && takesTotals?.(subject) === true
        return { chunk: one, to: queues, isSent: queues.length > 0 || isCounted }
      })
      return {
        ...{ run, timing: known.timing },
        pending: addressed.filter(one => one.to.length > 0),
        reports: addressed.flatMap(one => reports?.(one.chunk, one) ?? []),
        totals: measure === undefined ? [] : chunks.flatMap(one => measure(one) ?? []),
      }
    },
  }
}

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
