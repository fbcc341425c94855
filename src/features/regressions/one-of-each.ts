// Reduces findings to one flag per cause: it groups a project's findings that began together, such as a pipeline, its job and a section of that job.
// Pure.
import type { Found } from './judge-project.ts'
import type { Millis } from '../../model/instant.ts'
import type { Regression } from './documents.ts'

export interface Group {
  /** The finding that is flagged. */
  readonly main: Found
  /** Other jobs that changed at the same time as the flagged job. */
  readonly also: readonly string[]
}

/**
 * Groups findings that began at about the same time, because they share one cause. Each group has the finding to flag, and the names of the other
 * jobs.
 */
export function oneOfEach(found: readonly Found[]): Group[] {
  const groups: Found[][] = []
  for (const one of found.toSorted((a, b) => a.episode.first.at - b.episode.first.at)) {
    const group = groups.find(
      group =>
        group.some(other => explains(inside(other), one)) || (group[0] !== undefined && belongTogether(group[0], one)),
    )
    if (group === undefined) groups.push([one])
    else group.push(one)
  }
  return groups.flatMap(group => {
    const main = mainOf(group)
    if (main === undefined) return []
    const others = new Set(group.map(({ job }) => job).filter(job => job !== '' && job !== main.job))
    return [{ main, also: [...others].sort() }]
  })
}

/** Returns the innermost section that explains at least half of the effect; otherwise the job; otherwise the pipeline. */
function mainOf(group: readonly Found[]): Found | undefined {
  const jobs = group.filter(({ job }) => job !== '')
  const [greatest] = (jobs.length === 0 ? group : jobs).toSorted((a, b) => effectOf(b) - effectOf(a))
  if (greatest === undefined) return undefined
  const [section] = jobs
    .filter(one => one.section !== '' && one.job === greatest.job && effectOf(one) >= effectOf(greatest) / 2)
    .sort((a, b) => depthOf(b) - depthOf(a) || effectOf(b) - effectOf(a))
  return section ?? greatest
}

/**
 * Whether the cause of a finding was already flagged: for another class of branch, for a job that changed together with this one, or for its
 * pipeline, its job or a section.
 */
export function isSameCause(flagged: Regression, found: Found): boolean {
  if (flagged.kind !== found.kind) return false
  const { job, section, episode } = found
  if (episode.first.at > (flagged.resolved?.at ?? Infinity)) return false
  if (isSoonAfter(flagged.first.at, episode.first.at)) return true
  const isOfItsJob = job === flagged.job && (section !== '' || flagged.ofSection === true)
  const isMeanwhile = episode.first.at <= flagged.flagged.at && flagged.first.at <= episode.flagged.at
  if (isOfItsJob && isMeanwhile) return true
  // A resolved regression explains only findings that began at the same time. That case was handled above.
  if (flagged.resolved !== undefined) return false
  if (flagged.also.includes(job)) return true
  // The depth of a flagged section is not stored, so depth 1 is assumed, or 0 if both have the same section.
  const depth = found.section === flagged.section ? 0 : 1
  const its = { ...flagged, section: flagged.ofSection === true ? (flagged.section ?? '') : '', depth }
  if (explains({ ...its, from: flagged.first.at, until: Infinity }, found)) return true
  return job === flagged.job && (section === '' || flagged.section === undefined || flagged.section === section)
}

function belongTogether(a: Found, b: Found): boolean {
  if (a.kind !== b.kind) return false
  const [one, other] = [a.episode, b.episode]
  if (isSoonAfter(one.first.at, other.first.at) || one.first.id === other.first.id) return true
  // If a job runs only once a day, its first bad run and its section's first bad run may be a day apart.
  const isOfOneJob = a.job === b.job && a.job !== '' && (a.section !== '' || b.section !== '')
  return isOfOneJob && other.first.at <= one.flagged.at && one.first.at <= other.flagged.at
}

/** A change of a job or section that may explain the change of the pipeline, job or section around it. */
interface Inside {
  readonly kind: Found['kind']
  readonly job: string
  readonly section: string
  readonly depth: number
  readonly before: number
  readonly after: number
  readonly from: Millis
  readonly until: Millis
}

function inside(one: Found): Inside {
  const { kind, job, section, episode } = one
  const { before, after, first, resolved } = episode
  return { kind, job, section, depth: depthOf(one), before, after, from: first.at, until: resolved?.by.at ?? Infinity }
}

/**
 * Whether the inner change explains the outer one. A slower or failing job also affects its pipeline, and a section affects the job or section around
 * it, but the outer figures are noisier and may show the change days later. The inner change must have at least half of the outer change's effect and
 * must not have ended.
 */
function explains(inner: Inside, outer: Found): boolean {
  if (inner.kind !== outer.kind || inner.job === '') return false
  const isDeeper = inner.section !== '' && (outer.section === '' || depthOf(outer) < inner.depth)
  if (outer.job !== '' && !(outer.job === inner.job && isDeeper)) return false
  const { at } = outer.episode.first
  return at >= inner.from && at <= inner.until && inner.after - inner.before >= effectOf(outer) / 2
}

function isSoonAfter(a: Millis, b: Millis): boolean {
  return Math.abs(a - b) <= 6 * 3_600_000
}

function effectOf({ episode: { before, after } }: Found): number {
  return after - before
}

function depthOf({ since }: Found): number {
  return since[0]?.depth ?? 0
}
