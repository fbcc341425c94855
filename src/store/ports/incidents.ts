// Incidents: what is reported of them is taken in with what reported it (`Processed`); that one was opened is counted once, and how long it was open.
import type { Countable } from './counted.ts'
import type { Incident, IncidentFigures, IncidentView } from '../../model/incident.ts'
import type { Millis } from '../../model/instant.ts'

export interface ReportedIncident {
  readonly incident: Incident
  /** What is to be counted of it is counted so much later, ms: so long others may report of it. */
  readonly countIn: Millis
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

export interface Incidents extends Countable<Incident, IncidentFigures> {
  /** Forgets those that last changed before `before`; answers how many. */
  prune(before: Millis, limit: number): Promise<number>
  /** Those that were opened within a time, the latest first. */
  opened(filter: IncidentFilter & { readonly since: Millis; readonly until: Millis }): Promise<readonly ShownIncident[]>
  /** Those that are open, the latest first. */
  open(filter: IncidentFilter): Promise<readonly ShownIncident[]>
}
