// What features take from the line (the steps from a delivery to its export), and report within its transactions.
import type { Chunk } from '../../../model/chunk.ts'
import type { JobWait, Reporter, Reports } from './runs.ts'
import type { Condition, ConditionKind } from '../../../model/condition.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PlatformEvent } from '../../../model/event.ts'
import type { Run } from '../../../model/run.ts'
import type { Bins } from '../../../lib/log-bins.ts'

export function reportsBy<Report>(by: Reporter<Report>, reports: readonly Report[]): Reports[] {
  return reports.length === 0 ? [] : [{ by: by, reports }]
}

/** The reports by their reporters, in the order in which they are written. It is the same in all transactions, so that there is no deadlock. */
export function byReporter(all: readonly Reports[]): [Reporter<unknown>, unknown[]][] {
  const found = new Map<Reporter<unknown>, unknown[]>()
  for (const { by, reports } of all) {
    const known = found.get(by)
    if (known === undefined) found.set(by, [...reports])
    else known.push(...reports)
  }
  return [...found].sort(([a], [b]) => a.order - b.order)
}

/** What a feature takes from the line: pure, and called while the run is locked. */
export interface LineStep {
  /** It needs the artifacts of jobs, which only the platform's API lists. */
  readonly needsArtifacts?: true
  /** A run was observed. `known`: before that; undefined: it is new. */
  readonly onObserved?: ((run: Run, known: Run | undefined) => readonly Reports[]) | undefined
  /** A snapshot was taken; once for each of its chunks. */
  readonly onSnapshot?: ((chunk: Chunk, of: SnapshotOf) => readonly Reports[]) | undefined
  /** Something was read about the inside of a job. */
  readonly onInside?: ((chunk: Chunk, of: InsideOf) => readonly Reports[]) | undefined
  /** An event came that is about no run. */
  readonly onEvent?: ((event: PlatformEvent, receivedAt: Millis) => readonly Reports[]) | undefined
  /** Attributes that it adds to an event. */
  readonly attributesOf?: ((event: PlatformEvent) => PlatformEvent['attributes']) | undefined
  /** Of an event: the job with whose span it is sent. */
  readonly jobOf?: ((event: PlatformEvent) => JobWait | undefined) | undefined
}

/** `run`: with that snapshot; the same one for all of its chunks. `isSent`: false if no destination takes it. */
export interface SnapshotOf {
  readonly run: Run
  readonly isSent: boolean
}

/** `isSent`: false if no destination takes it. */
export type InsideOf = Pick<SnapshotOf, 'isSent'>

/** Takes reports of conditions that people may want to know of. Where no feature notifies people, the reports are dropped. */
export interface Notifier {
  /** Whether anybody wants to know of these. */
  readonly isAbout: (kind: ConditionKind) => boolean
  /** The reports, as a transaction writes them; empty if nobody wants to know. */
  readonly reports: (...conditions: readonly (Condition | undefined)[]) => Reports[]
}

/** Several notifiers as one. */
export function joinedNotifiers(all: readonly Notifier[]): Notifier {
  return {
    isAbout: kind => all.some(one => one.isAbout(kind)),
    reports: (...conditions) => all.flatMap(one => one.reports(...conditions)),
  }
}

// How long finished pipelines and jobs took, as far as a feature counts them. Without one nothing is known.

export interface PastDurations {
  /** The durations of the last days: of a project's pipelines, or of one of its jobs. */
  of(
    subject: { readonly instance: string; readonly projectId: number; readonly job?: string | undefined },
    days: number,
  ): Promise<Bins>
}

export const noDurations: PastDurations = { of: async () => ({}) }
