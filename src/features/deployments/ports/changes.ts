// Changes (merge requests). Each of their times is counted once.
import type { Change, ChangeState, ChangeView } from '../model/change.ts'
import type { Countable } from './counted.ts'
import type { CountedTimes } from '../model/change-figures.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PeriodFilter } from '../../../core/store/ports/project-scope.ts'
import type { ProjectFacts } from '../../../model/observation.ts'

/** A change as pages show it. */
export interface ShownChange {
  readonly id: number
  readonly change: Change
  readonly view: ChangeView
  /** The time of its last event. */
  readonly at: Millis
  readonly counted: CountedTimes
}

/** How many changes of a project are in each state. */
export interface ProjectChanges {
  readonly instance: string
  readonly project: ProjectFacts
  /** Since when they are counted. */
  readonly since: Millis
  readonly states: Readonly<Partial<Record<ChangeState, number>>>
}

/** `prune` deletes changes without an event since then. */
export interface Changes extends Countable<Change, CountedTimes> {
  /** Changes with an event within a period, the latest first. */
  list(filter: PeriodFilter): Promise<readonly ShownChange[]>
  /** By project. */
  states(): Promise<readonly ProjectChanges[]>
  /** The open ones of a project, including drafts, the oldest first. */
  open(of: { readonly instance: string; readonly projectId: number }, limit: number): Promise<readonly ChangeView[]>
}
