// Figures about changes (merge requests), for the pages and the JSON API: how many are open or merged, and how long that took.
import { day } from '../../store/ports/trends.ts'
import { median } from '../layout/median.ts'
import { ordered, type Keys } from '../layout/sorting.ts'
import { spans, type Span } from '../layout/trend-spans.ts'
import type { ChangeMeasure } from '../../model/change-figures.ts'
import type { ChangeView } from '../../model/change.ts'
import type { Millis } from '../../model/instant.ts'
import type { PagesSources } from '../ports.ts'
import type { ProjectChanges, ShownChange } from '../../store/ports/changes.ts'
import type { Scope } from '../layout/scope-heading.ts'

export interface AskedChanges extends Scope {
  /** Of projects, and of listed changes. */
  readonly limit: number
  /** A key of projects or of changes. Does not change which changes are listed: the latest. */
  readonly sort?: string | null | undefined
}

/** Medians over the period, ms; undefined if nothing was counted. */
export interface ChangeTimes {
  readonly merged: number
  readonly timeToMerge?: Millis | undefined
  readonly timeToApproval?: Millis | undefined
  readonly timeToFirstPipeline?: Millis | undefined
}

export interface ProjectChangeFigures extends ChangeTimes {
  readonly instance: string
  readonly projectId: number
  readonly project: string
  /** Open now, including drafts. */
  readonly open: number
}

/** A change in the list. */
export interface ListedChange extends ChangeView {
  readonly instance: string
  readonly projectId: number
  readonly project: string
  readonly iid: number
  readonly url?: string | undefined
  /** When it last changed. */
  readonly at: Millis
}

export interface ChangesShown {
  readonly span: Span
  readonly since: Millis
  readonly project?: string | undefined
  readonly total: ChangeTimes & { readonly open: number }
  /** Most merges first. */
  readonly projects: readonly ProjectChangeFigures[]
  /** Days in UTC, without those that have no merge. */
  readonly days: readonly { readonly at: Millis; readonly merged: number; readonly timeToMerge?: Millis | undefined }[]
  /** Newest first. */
  readonly changes: readonly ListedChange[]
}

export const projectKeys = {
  project: ({ project }) => project,
  open: ({ open }) => open,
  merged: ({ merged }) => merged,
  merge: ({ timeToMerge }) => timeToMerge,
  approval: ({ timeToApproval }) => timeToApproval,
  pipeline: ({ timeToFirstPipeline }) => timeToFirstPipeline,
} satisfies Keys<ProjectChangeFigures>

export const changeKeys = {
  last: ({ at }) => at,
  change: ({ iid }) => iid,
  state: ({ state }) => state,
  branch: ({ head }) => head,
  first: ({ createdAt, pipeline }) => after(createdAt, pipeline?.createdAt),
  approved: ({ createdAt, approvedAt }) => after(createdAt, approvedAt),
  took: ({ createdAt, mergedAt }) => after(createdAt, mergedAt),
} satisfies Keys<ListedChange>

function after(from: Millis | undefined, at: Millis | undefined): Millis | undefined {
  return from === undefined || at === undefined ? undefined : Math.max(0, at - from)
}

/** Figures are made from the latest ones, up to this number. */
const mostCounted = 5_000

export async function changesOf(
  { changes }: Pick<PagesSources, 'changes'>,
  { span, project, limit, sort }: AskedChanges,
  now: Millis,
): Promise<ChangesShown> {
  const since = now - spans[span].length
  const [known, recent] = await Promise.all([
    changes.states(),
    changes.list({ project, since, until: now + 1, limit: mostCounted }),
  ])
  const states = known.filter(one => project === undefined || one.project.path === project)
  const byProject = Map.groupBy(recent, ({ change }) => placeOf(change.instance, change.project.id))
  const projects = states
    .map((one): ProjectChangeFigures => {
      const own = byProject.get(placeOf(one.instance, one.project.id)) ?? []
      const place = { instance: one.instance, projectId: one.project.id, project: one.project.path ?? '' }
      return { ...place, open: openOf(one), ...timesOf(own, since) }
    })
    .sort((a, b) => b.merged - a.merged || b.open - a.open || (a.project < b.project ? -1 : 1))
  const merges = recent.flatMap(({ counted: { merge } }) => (merge === undefined || merge.at < since ? [] : merge))
  const days = [...Map.groupBy(merges, ({ at }) => Math.floor(at / day) * day)].map(([at, own]) => ({
    ...{ at, merged: own.length },
    timeToMerge: median(own.map(({ took }) => took)),
  }))
  return {
    ...{ span, since, project },
    total: { open: states.reduce((sum, one) => sum + openOf(one), 0), ...timesOf(recent, since) },
    projects: ordered(projectKeys, projects.slice(0, limit), sort),
    days: days.sort((a, b) => a.at - b.at),
    changes: ordered(changeKeys, recent.slice(0, limit).map(listed), sort),
  }
}

function openOf({ states }: ProjectChanges): number {
  return (states.open ?? 0) + (states.wip ?? 0)
}

function timesOf(some: readonly ShownChange[], since: Millis): ChangeTimes {
  const took = (measure: ChangeMeasure): number[] =>
    some.flatMap(({ counted: { [measure]: time } }) => (time === undefined || time.at < since ? [] : time.took))
  return {
    merged: took('merge').length,
    timeToMerge: median(took('merge')),
    timeToApproval: median(took('approval')),
    timeToFirstPipeline: median(took('pipeline')),
  }
}

function placeOf(instance: string, projectId: number): string {
  return JSON.stringify([instance, projectId])
}

function listed({ change: { instance, project, iid }, view, at }: ShownChange): ListedChange {
  const page = project.webUrl ?? (project.path === undefined ? undefined : `${instance}/${project.path}`)
  const url = page === undefined ? undefined : `${page}/-/merge_requests/${iid}`
  return { ...view, instance, projectId: project.id, project: project.path ?? '', iid, url, at }
}
