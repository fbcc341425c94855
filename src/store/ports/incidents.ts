// Incidents: what is reported of them is taken in with what reported it (`Processed`); that one was opened is counted once, and how long it was open.
import type { Incident, IncidentFigures, IncidentView } from '../../model/incident.ts'
import type { Millis } from '../../model/instant.ts'
import type { ProjectIncrements } from '../../model/totals.ts'
import type { ReceivedEvent } from './events.ts'

export interface ReportedIncident {
  readonly incident: Incident
  /** What is to be counted of it is counted so much later, ms: so long others may report of it. */
  readonly countIn: Millis
}

/** What is written of one that is counted. */
export interface CountedIncident {
  readonly totals?: ProjectIncrements | undefined
  /** For destinations that take the points of each incident by themselves. */
  readonly sent?: ReceivedEvent | undefined
}

/** An incident as pages show it. */
export interface ShownIncident {
  readonly incident: Incident
  readonly view: IncidentView
}

export interface IncidentFilter {
  /** Full path; all where there is none. */
  readonly project?: string | undefined
  readonly limit: number
}

export interface Incidents {
  /** Takes some that are due, and hides them from others for `leaseMs`. */
  take(limit: number, leaseMs: number): Promise<readonly { readonly id: number }[]>
  /** Leases them for so long from now; 0: they are due at once. */
  extend(ids: readonly number[], leaseMs: number): Promise<void>
  /**
   * Counts what is to be counted of it, in one transaction, for which `decide` says what it adds. Undefined where nothing was counted; what it was
   * otherwise.
   */
  count(
    id: number,
    decide: (incident: Incident, figures: IncidentFigures) => CountedIncident,
  ): Promise<IncidentFigures | undefined>
  /** Forgets those that last changed before `before`; answers how many. */
  prune(before: Millis, limit: number): Promise<number>
  /** Those that were opened within a time, the latest first. */
  opened(filter: IncidentFilter & { readonly since: Millis; readonly until: Millis }): Promise<readonly ShownIncident[]>
  /** Those that are open, the latest first. */
  open(filter: IncidentFilter): Promise<readonly ShownIncident[]>
}
