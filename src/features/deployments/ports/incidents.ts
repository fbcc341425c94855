// Incidents. The opening and the duration of each are counted once.
import type { Countable } from './counted.ts'
import type { CountedIncident, Incident, IncidentView } from '../model/incident.ts'
import type { PeriodFilter } from '../../../core/store/ports/project-scope.ts'

/** An incident as pages show it. */
export interface ShownIncident {
  readonly incident: Incident
  readonly view: IncidentView
}

/** `prune` deletes those that have not changed since. */
export interface Incidents extends Countable<Incident, CountedIncident> {
  /** Those opened within a period, the latest first. */
  opened(filter: PeriodFilter): Promise<readonly ShownIncident[]>
  /** The open ones, the latest first. */
  open(filter: Pick<PeriodFilter, 'project' | 'limit'>): Promise<readonly ShownIncident[]>
}
