// The steps that features add to the processing line, and the reports that they make within its transactions. The processing line is the sequence of
// steps from a delivery to its export.
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

/**
 * Groups the reports by reporter, in the order in which the reporters write them. This order is the same in all transactions, which prevents
 * deadlocks.
 */
export function byReporter(all: readonly Reports[]): [Reporter<unknown>, unknown[]][] {
  const found = new Map<Reporter<unknown>, unknown[]>()
  for (const { by, reports } of all) {
    const known = found.get(by)
    if (known === undefined) found.set(by, [...reports])
    else known.push(...reports)
  }
  return [...found].sort(([a], [b]) => a.order - b.order)
}

/** A feature's step in the processing line. It is pure, and is called while the run is locked. */
export interface LineStep {
  /** Set if the step needs the artifacts of jobs, which only the platform's API lists. */
  readonly needsArtifacts?: true
  /** Called after a run was observed. `known` is the run before the observation; undefined if the run is new. */
  readonly onObserved?: ((run: Run, known: Run | undefined) => readonly Reports[]) | undefined
  /** Called after a snapshot was taken, once for each of its chunks. */
  readonly onSnapshot?: ((chunk: Chunk, of: SnapshotOf) => readonly Reports[]) | undefined
  /** Called after job internals (such as log sections) were read. */
  readonly onInside?: ((chunk: Chunk, of: InsideOf) => readonly Reports[]) | undefined
  /** Called after the arrival of an event that does not belong to a run. */
  readonly onEvent?: ((event: PlatformEvent, receivedAt: Millis) => readonly Reports[]) | undefined
  /** Returns the attributes that the feature adds to an event. */
  readonly attributesOf?: ((event: PlatformEvent) => PlatformEvent['attributes']) | undefined
  /** Returns the job whose span the event is exported with; undefined if there is none. */
  readonly jobOf?: ((event: PlatformEvent) => JobWait | undefined) | undefined
}

/**
 * The snapshot to which a chunk belongs. `run` includes the snapshot, and is the same for all of its chunks. `isSent` is false if no destination
 * takes it.
 */
export interface SnapshotOf {
  readonly run: Run
  readonly isSent: boolean
}

/** Whether the internals of a job (such as log sections) are sent. `isSent` is false if no destination takes them. */
export type InsideOf = Pick<SnapshotOf, 'isSent'>

/** Accepts reports of conditions about which people may want to be notified. If no feature sends notifications, the reports are dropped. */
export interface Notifier {
  /** Whether anyone wants notifications about this kind of condition. */
  readonly isAbout: (kind: ConditionKind) => boolean
  /** Returns the reports that a transaction writes; empty if no one wants to be notified about them. */
  readonly reports: (...conditions: readonly (Condition | undefined)[]) => Reports[]
}

/** Combines several notifiers into one. */
export function joinedNotifiers(all: readonly Notifier[]): Notifier {
  return {
    isAbout: kind => all.some(one => one.isAbout(kind)),
    reports: (...conditions) => all.flatMap(one => one.reports(...conditions)),
  }
}

// The durations of finished pipelines and jobs, if a feature records them. Without such a feature no durations are known.

export interface PastDurations {
  /** Returns the recent durations of a project's pipelines, or of one job in the project. */
  of(
    subject: { readonly instance: string; readonly projectId: number; readonly job?: string | undefined },
    days: number,
  ): Promise<Bins>
}

export const noDurations: PastDurations = { of: async () => ({}) }
