// Changes (merge requests): what is reported of them is taken in with what reported it (`Processed`, `RunChange`); each of their times is counted
// once, when all that is known of it had time to arrive.
import type { Change, ChangeState, ChangeView } from '../../model/change.ts'
import type { ChangeFigures, CountedTimes } from '../../model/change-figures.ts'
import type { Countable } from './counted.ts'
import type { Millis } from '../../model/instant.ts'
import type { ProjectFacts } from '../../model/observation.ts'

export interface ReportedChange {
  readonly change: Change
  /** What is new of its times is counted so much later, ms: so long an earlier one may be reported. */
  readonly countIn: Millis
}

/** A change as pages show it. */
export interface ShownChange {
  readonly id: number
  readonly change: Change
  readonly view: ChangeView
  /** When something of it last happened. */
  readonly at: Millis
  readonly counted: CountedTimes
}

/** How many changes of a project are in which state. */
export interface ProjectChanges {
  readonly instance: string
  readonly project: ProjectFacts
  /** Since when they are counted. */
  readonly since: Millis
  readonly states: Readonly<Partial<Record<ChangeState, number>>>
}

export interface ChangeFilter {
  /** Full path; all where there is none. */
  readonly project?: string | undefined
  readonly since: Millis
  readonly until: Millis
  readonly limit: number
}

/** Damaged ones are passed over for good. `count` counts one time, the earliest. */
export interface Changes extends Countable<Change, ChangeFigures> {
  /** Forgets those of which nothing happened since `before`; answers how many. */
  prune(before: Millis, limit: number): Promise<number>
  /** Those of which something happened within a time, the latest first. */
  list(filter: ChangeFilter): Promise<readonly ShownChange[]>
  /** By project. */
  states(): Promise<readonly ProjectChanges[]>
  /** Those of a project that are open, drafts too, the oldest first. */
  open(of: { readonly instance: string; readonly projectId: number }, limit: number): Promise<readonly ChangeView[]>
}
