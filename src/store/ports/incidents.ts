// Incidents. The opening and the duration of each are counted once.
import type { Countable } from './counted.ts'
import type { CountedIncident, Incident, IncidentView } from '../../model/incident.ts'
import type { Millis } from '../../model/instant.ts'
import type { ProjectScope } from './project-scope.ts'

/** An incident as pages show it. */
export interface ShownIncident {
  readonly incident: Incident
  readonly view: IncidentView
}

export interface IncidentFilter {
  /** Full path; undefined: all. */
  readonly project?: ProjectScope | undefined
  readonly limit: number
}

/** `prune` deletes those that have not changed since. */
export interface Incidents extends Countable<Incident, CountedIncident> {
  /** Those opened within a period, the latest first. */
  opened(filter: IncidentFilter & { readonly since: Millis; readonly until: Millis }): Promise<readonly ShownIncident[]>
  /** The open ones, the latest first. */
  open(filter: IncidentFilter): Promise<readonly ShownIncident[]>
}
