// Incidents. Reports of them are written with the delivery that reported them (`Processed`). Of each, its opening and its duration are counted once.
import type { Countable } from './counted.ts'
import type { Incident, IncidentFigures, IncidentView } from '../../model/incident.ts'
import type { Millis } from '../../model/instant.ts'

export interface ReportedIncident {
  readonly incident: Incident
  /** How much later it is counted, ms: until then more may be reported of it. */
  readonly countIn: Millis
}

/** An incident as pages show it. */
export interface ShownIncident {
  readonly incident: Incident
  readonly view: IncidentView
}

export interface IncidentFilter {
  /** Full path; undefined: all. */
  readonly project?: string | undefined
  readonly limit: number
}

export interface Incidents extends Countable<Incident, IncidentFigures> {
  /** Deletes those that last changed before `before`; returns how many. */
  prune(before: Millis, limit: number): Promise<number>
  /** Those opened within a period, the latest first. */
  opened(filter: IncidentFilter & { readonly since: Millis; readonly until: Millis }): Promise<readonly ShownIncident[]>
  /** The open ones, the latest first. */
  open(filter: IncidentFilter): Promise<readonly ShownIncident[]>
}
