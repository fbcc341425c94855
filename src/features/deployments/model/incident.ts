// An incident, as webhook events and the platform's list of issues report it. Its key is its project and its number (iid) there. Merging is
// pure and commutative.
import { earliest, later, second, type Millis } from '../../../model/instant.ts'
import { knownOf, mergeVersioned, versioned, versionOf, type Versioned } from '../../../model/versioned.ts'
import type { ProjectFacts } from '../../../model/observation.ts'

/** What the newest report contains. */
export interface IncidentFacts {
  /** `retyped`: the issue has another type now, so it is no longer an incident. */
  readonly state: 'opened' | 'closed' | 'retyped'
  readonly at: Millis
  readonly severity?: string | undefined
}

/** One report of an incident, or all reports merged. */
export interface Incident {
  readonly instance: string
  readonly project: ProjectFacts
  readonly iid: number
  readonly facts: Versioned<IncidentFacts>
  readonly openedAt?: Millis | undefined
  /** When it was last reported as open. */
  readonly lastOpenAt?: Millis | undefined
  /** When it was last closed, if that was reported. */
  readonly closedAt?: Millis | undefined
}

/** The incident as all other code reads it. */
export interface IncidentView {
  readonly state: IncidentFacts['state']
  readonly severity?: string | undefined
  readonly openedAt?: Millis | undefined
  /** Undefined while it is open. */
  readonly closedAt?: Millis | undefined
  readonly changedAt: Millis
}

/** What one metric point counts: that it was opened, how long it was open, or both. */
export interface IncidentFigures {
  readonly severity?: string | undefined
  readonly isOpening: boolean
  readonly duration?: Millis | undefined
  readonly at: Millis
}

export interface ReportedIssue extends Pick<Incident, 'instance' | 'project' | 'iid'> {
  readonly state: string | undefined
  readonly severity?: string | undefined
  /** When it was in this state. */
  readonly at: Millis
  readonly openedAt?: Millis | undefined
  readonly closedAt?: Millis | undefined
}

/** Undefined for an unknown state. */
export function reportedIncident({ instance, project, iid, ...issue }: ReportedIssue): Incident | undefined {
  const { state, at, openedAt, closedAt } = issue
  if (state !== 'opened' && state !== 'closed' && state !== 'retyped') return undefined
  const isClosed = state === 'closed'
  // Some times come as whole seconds. Of two reports in the same second, the one that says open is the older one.
  const version = versionOf(second(at), state === 'opened' ? 0 : 1, Math.round(at))
  return knownOf({
    ...{ instance, project, iid, openedAt },
    facts: versioned<IncidentFacts>(version, { state, at, severity: issue.severity?.toLowerCase() }),
    lastOpenAt: state === 'opened' ? at : undefined,
    closedAt: isClosed ? closedAt : undefined,
  })
}

/** Commutative, associative and idempotent, except for the project: it may be renamed, so the last report wins. */
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
  // The incident may have been reopened after this close, and closed again.
  const isOfNow = closedAt !== undefined && (lastOpenAt === undefined || second(closedAt) >= second(lastOpenAt))
  const end = state === 'closed' ? (isOfNow ? closedAt : at) : undefined
  return { state, changedAt: at, ...knownOf({ severity, openedAt, closedAt: end }) }
}

/** A time that is longer than this before the first report, ms, is not counted: the daemon was not running yet. */
export const incidentLookback = 7 * 24 * 3_600_000

/** The parts that were counted, or are too old to be counted. */
export interface CountedIncident {
  readonly opening: boolean
  readonly closing: boolean
}

/** The parts to count now; undefined: none. */
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
