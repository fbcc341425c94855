// An incident, as reported by webhook events and the platform's issue list. It is identified by its project and its number (iid) in the project.
// Merging reports is pure and commutative.
import { earliest, later, second, type Millis } from '../../../model/instant.ts'
import { knownOf, mergeVersioned, versioned, versionOf, type Versioned } from '../../../model/versioned.ts'
import type { ProjectFacts } from '../../../model/observation.ts'

/** The fields of the newest report of an incident. */
export interface IncidentFacts {
  /** `retyped` means that the issue's type was changed, so it is no longer an incident. */
  readonly state: 'opened' | 'closed' | 'retyped'
  readonly at: Millis
  readonly severity?: string | undefined
}

/** One report of an incident, or all its reports merged. */
export interface Incident {
  readonly instance: string
  readonly project: ProjectFacts
  readonly iid: number
  readonly facts: Versioned<IncidentFacts>
  readonly openedAt?: Millis | undefined
  /** When the incident was last reported as open. */
  readonly lastOpenAt?: Millis | undefined
  /** When the incident was last closed, if a report contained that time. */
  readonly closedAt?: Millis | undefined
}

/** The incident in the form that all other code reads. */
export interface IncidentView {
  readonly state: IncidentFacts['state']
  readonly severity?: string | undefined
  readonly openedAt?: Millis | undefined
  /** Undefined while the incident is open. */
  readonly closedAt?: Millis | undefined
  readonly changedAt: Millis
}

/** What one metric point counts about an incident: that it was opened, how long it was open, or both. */
export interface IncidentFigures {
  readonly severity?: string | undefined
  readonly isOpening: boolean
  readonly duration?: Millis | undefined
  readonly at: Millis
}

export interface ReportedIssue extends Pick<Incident, 'instance' | 'project' | 'iid'> {
  readonly state: string | undefined
  readonly severity?: string | undefined
  /** A time at which the issue was in the reported state. */
  readonly at: Millis
  readonly openedAt?: Millis | undefined
  readonly closedAt?: Millis | undefined
}

/** Returns the incident of a reported issue, or undefined if the issue's state is unknown. */
export function reportedIncident({ instance, project, iid, ...issue }: ReportedIssue): Incident | undefined {
  const { state, at, openedAt, closedAt } = issue
  if (state !== 'opened' && state !== 'closed' && state !== 'retyped') return undefined
  const isClosed = state === 'closed'
  // Some reports have times in whole seconds. If two reports have the same second, the one with the state `opened` is older.
  const version = versionOf(second(at), state === 'opened' ? 0 : 1, Math.round(at))
  return knownOf({
    ...{ instance, project, iid, openedAt },
    facts: versioned<IncidentFacts>(version, { state, at, severity: issue.severity?.toLowerCase() }),
    lastOpenAt: state === 'opened' ? at : undefined,
    closedAt: isClosed ? closedAt : undefined,
  })
}

/** Merging is commutative, associative and idempotent, except for the project: a project may be renamed, so its last report wins. */
export function mergeIncident(known: Incident, reported: Incident): Incident {
  const { instance, iid } = known
  return knownOf({
    ...{ instance, iid, project: { ...known.project, ...reported.project } },
    facts: mergeVersioned(known.facts, reported.facts),
    openedAt: earliest([known.openedAt, reported.openedAt]),
    lastOpenAt: later(known.lastOpenAt, reported.lastOpenAt),
    closedAt: later(known.closedAt, reported.closedAt),
  })
}

export function viewIncident({ facts: { facts }, openedAt, lastOpenAt, closedAt }: Incident): IncidentView {
  const { state, severity, at } = facts
  // The known closing time is stale if the incident was reported as open again after it.
  const isOfNow = closedAt !== undefined && (lastOpenAt === undefined || second(closedAt) >= second(lastOpenAt))
  const end = state === 'closed' ? (isOfNow ? closedAt : at) : undefined
  return { state, changedAt: at, ...knownOf({ severity, openedAt, closedAt: end }) }
}

/**
 * The maximum age of an incident's opening or closing when it is first reported, ms. Older ones are not counted, because they happened before the
 * daemon was running.
 */
export const incidentLookback = 7 * 24 * 3_600_000

/** Which parts of an incident (its opening, its closing) are done: already counted, or too old to be counted. */
export interface CountedIncident {
  readonly opening: boolean
  readonly closing: boolean
}

/** Returns the parts of an incident that are to be counted now (its opening, its closing, or both), or undefined if there are none. */
export function incidentFigures(
  { severity, openedAt, closedAt }: IncidentView,
  counted: CountedIncident,
  knownAt: Millis,
): IncidentFigures | undefined {
  if (openedAt === undefined) return undefined
  const isNews = (at: Millis): boolean => at >= knownAt - incidentLookback
  const isOpening = !counted.opening && isNews(openedAt)
  const isClosing = closedAt !== undefined && !counted.closing && isNews(closedAt)
  if (!isOpening && !isClosing) return undefined
  return {
    ...knownOf({ severity, duration: isClosing ? Math.max(0, closedAt - openedAt) : undefined }),
    ...{ isOpening, at: isClosing ? closedAt : openedAt },
  }
}
