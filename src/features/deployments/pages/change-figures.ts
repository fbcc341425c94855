// Figures about changes (merge requests), for the pages and the JSON API: how many are open, how many were merged, and how long merging took.
import { z } from 'zod'
import { isInScope } from '../../../core/store/ports/project-scope.ts'
import { median } from '../../../lib/quantile.ts'
import { millis, ms, own as ownShape, span, type Shaped } from '../../../console/layout/shape.ts'
import { day, spans } from '../../../console/layout/trend-spans.ts'
import type { ChangeMeasure } from '../model/change.ts'
import { changeList, changeProjects, open, type ListedChange, type ProjectChangeFigures } from './change-columns.ts'
import type { Millis } from '../../../model/instant.ts'
import type { ProjectChanges, ShownChange } from '../sql/changes.ts'
import type { Scope } from '../../../console/layout/scope-heading.ts'
import type { DeploymentSources } from './sources.ts'

interface AskedChanges extends Scope {
  /** The maximum number of projects and of listed changes. */
  readonly limit: number
  /** The sort key for the list of projects or changes. It does not affect which changes are listed: these are always the latest ones. */
  readonly sort?: string | null | undefined
}

const timesShape = changeProjects.shape.omit({ instance: true, projectId: true, project: true, open: true })
/** The median merge request times of a period. */
type ChangeTimes = Shaped<typeof timesShape>

export const changesShape = z.object({
  span,
  since: millis,
  project: z.string().optional(),
  own: ownShape,
  backTo: millis
    .optional()
    .describe('Set if the period has more than 5,000 changes: only the newest are counted, back to this time.'),
  total: z.object({ open, ...timesShape.shape }),
  projectCount: z.number().describe('Number of all projects with changes.'),
  projects: z.array(changeProjects.shape).describe('Projects with the most merges first.'),
  days: z
    .array(z.object({ at: millis, merged: z.number(), timeToMerge: ms.optional() }))
    .describe('UTC days that have at least one merge.'),
  changes: z.array(changeList.shape).describe('Newest first.'),
})
export type ChangesShown = Shaped<typeof changesShape>

/** The maximum number of changes that figures are computed from, latest first. */
export const maxCounted = 5_000

export async function changesOf(
  { changes }: Pick<DeploymentSources, 'changes'>,
  { span: asked, project, own, limit, sort }: AskedChanges,
  now: Millis,
): Promise<ChangesShown> {
  const since = now - spans[asked].length
  const [known, all] = await Promise.all([
    changes.states(),
    // One more change is read than is used. If it exists, the figures are incomplete.
    changes.list({ project, since, until: now + 1, limit: maxCounted + 1 }),
  ])
  const recent = all.slice(0, maxCounted)
  const states = known.filter(one => isInScope(one.project.path ?? '', project))
  const byProject = Map.groupBy(recent, ({ change }) => placeOf(change.instance, change.project.id))
  const projects = states
    .map((one): ProjectChangeFigures => {
      const own = byProject.get(placeOf(one.instance, one.project.id)) ?? []
      const its = { instance: one.instance, projectId: one.project.id, project: one.project.path ?? '' }
      return { ...its, open: openOf(one), ...timesOf(own, since) }
    })
    .sort((a, b) => b.merged - a.merged || b.open - a.open || (a.project < b.project ? -1 : 1))
  const merges = recent.flatMap(({ counted: { merge } }) => (merge === undefined || merge.at < since ? [] : merge))
  const days = [...Map.groupBy(merges, ({ at }) => Math.floor(at / day) * day)].map(([at, own]) => ({
    ...{ at, merged: own.length },
    timeToMerge: median(own.map(({ took }) => took)),
  }))
  return {
    ...{ span: asked, since, project, own },
    backTo: all.length > maxCounted ? recent.at(-1)?.at : undefined,
    projectCount: projects.length,
    total: { open: states.reduce((sum, one) => sum + openOf(one), 0), ...timesOf(recent, since) },
    projects: changeProjects.sorted(projects.slice(0, limit), sort),
    days: days.sort((a, b) => a.at - b.at),
    changes: changeList.sorted(recent.slice(0, limit).map(listed), sort),
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
    timeInMergeTrain: median(took('train')),
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
