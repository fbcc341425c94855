// The lists on the changes page: projects with their figures, and the latest changes.
import { z } from 'zod'
import { addressWith } from '../../../console/layout/address.ts'
import { changeStates, type ChangeView } from '../model/change.ts'
import { duration, figure, number, since } from '../../../console/layout/format.ts'
import { html, pathText, type Content, type Html } from '../../../console/layout/html.ts'
import { listOf } from '../../../console/layout/list.ts'
import { millis, ms, place, type Shaped } from '../../../console/layout/shape.ts'
import { scopeAddress, type Scope } from '../../../console/layout/scope-heading.ts'
import type { Millis } from '../../../model/instant.ts'
import type { RequestContext } from '../../../console/layout/frame.ts'

/** `project` is the project that the page shows; if undefined, it shows all projects. */
interface ChangesContext extends RequestContext, Pick<Scope, 'span' | 'project'> {
  /** Whether any listed change has been in a merge train. */
  readonly hasTrain: boolean
}

const took = (time: number | undefined): Html => figure(duration(time))

export const open = z.number().describe('Number of changes that are open now, including drafts.')

export const changeProjects = listOf<never, ChangesContext>()({
  project: {
    json: place.project,
    title: 'Project',
    cell: ({ project }, context) => (project === '' ? '–' : projectLink(project, context)),
  },
  instance: { json: place.instance },
  projectId: { json: place.projectId },
  open: { json: open, title: 'Open', cell: one => figure(number(one.open)) },
  merged: {
    json: z.number().describe('Number of changes merged in this period.'),
    title: 'Merged',
    cell: ({ merged }) => figure(number(merged)),
  },
  timeToMerge: {
    json: ms.optional().describe('Median from creation to merge, in ms.'),
    title: 'Time to merge',
    as: 'merge',
    cell: one => took(one.timeToMerge),
  },
  timeToApproval: {
    json: ms.optional().describe('Median from creation to first approval, in ms.'),
    title: 'To approval',
    as: 'approval',
    cell: one => took(one.timeToApproval),
  },
  timeToFirstPipeline: {
    json: ms.optional().describe('Median from creation to the creation of the first merge request pipeline, in ms.'),
    title: 'To first pipeline',
    as: 'pipeline',
    cell: one => took(one.timeToFirstPipeline),
  },
  timeInMergeTrain: {
    json: ms
      .optional()
      .describe('Median from the creation of the first pipeline in a merge train to the merge, in ms.'),
    title: 'In merge train',
    as: 'train',
    isFor: ({ hasTrain }) => hasTrain,
    cell: one => took(one.timeInMergeTrain),
  },
})
export type ProjectChangeFigures = Shaped<typeof changeProjects.shape>

export const changeList = listOf<never, ChangesContext>()({
  at: {
    json: millis.describe('When the change was last updated.'),
    title: 'Last',
    as: 'last',
    cell: ({ at }, { now }) => since(at, now),
  },
  iid: {
    json: z.number(),
    title: 'Change',
    as: 'change',
    cell: ({ iid, url, title, project }, context) =>
      html`<span class="name"
        >${url === undefined ? `!${iid}` : html`<a href="${url}" rel="noreferrer">!${iid}</a>`}
        ${title}${context.project === undefined && html`<br /><span class="dim">${projectLink(project, context)}</span>`}</span
      >`,
  },
  instance: { json: place.instance },
  projectId: { json: place.projectId },
  project: { json: place.project },
  url: { json: z.string().optional() },
  title: { json: z.string().optional() },
  state: { json: z.enum(changeStates), title: 'State', cell: ({ state }) => stateWords[state] },
  head: {
    json: z.string().optional().describe('The source branch.'),
    title: 'Branch',
    as: 'branch',
    cell: ({ project, head, base: target }, { base }) => branches(base, project, head, target),
  },
  base: { json: z.string().optional().describe('The target branch.') },
  createdAt: { json: millis.optional() },
  stateAt: { json: millis.optional().describe('When the change was last opened, closed, reopened or merged.') },
  pipeline: {
    json: z
      .object({ id: z.number(), projectId: z.number(), createdAt: millis })
      .optional()
      .describe('The first pipeline of the change.'),
    title: 'First pipeline',
    as: 'first',
    by: ({ createdAt, pipeline }) => after(createdAt, pipeline?.createdAt),
    cell: ({ createdAt, pipeline }, { base }) =>
      pipeline === undefined
        ? '–'
        : html`<a href="${base}/pipelines/${pipeline.projectId}/${pipeline.id}">#${pipeline.id}</a
            >${createdAt !== undefined && ` after ${duration(after(createdAt, pipeline.createdAt))}`}`,
  },
  approvedAt: {
    json: millis.optional().describe('Time of the first approval.'),
    title: 'Approved after',
    as: 'approved',
    by: ({ createdAt, approvedAt }) => after(createdAt, approvedAt),
    cell: ({ createdAt, approvedAt }) => took(after(createdAt, approvedAt)),
  },
  mergedAt: {
    json: millis.optional(),
    title: 'Merged after',
    as: 'took',
    by: ({ createdAt, mergedAt }) => after(createdAt, mergedAt),
    cell: ({ createdAt, mergedAt }) => took(after(createdAt, mergedAt)),
  },
  trainAt: {
    json: millis.optional().describe('When the first merge train pipeline of the change was created.'),
    title: 'In merge train',
    as: 'train',
    by: ({ trainAt, mergedAt }) => after(trainAt, mergedAt),
    isFor: ({ hasTrain }) => hasTrain,
    cell: ({ trainAt, mergedAt }) => took(after(trainAt, mergedAt)),
  },
})
export type ListedChange = Shaped<typeof changeList.shape>

const stateWords: Readonly<Record<ChangeView['state'], string>> = {
  open: 'open',
  wip: 'draft',
  closed: 'closed',
  merged: 'merged',
}

export function after(from: Millis | undefined, at: Millis | undefined): Millis | undefined {
  return from === undefined || at === undefined ? undefined : Math.max(0, at - from)
}

function projectLink(project: string, { base, span }: Pick<ChangesContext, 'base' | 'span'>): Html {
  return html`<a href="${scopeAddress(`${base}/changes`, { span, project })}">${pathText(project)}</a>`
}

/** The source branch links to its pipelines. */
function branches(base: string, project: string, head: string | undefined, target: string | undefined): Content {
  if (head === undefined) return target ?? '–'
  const pipelines = addressWith(`${base}/pipelines`, { project, ref: head })
  return html`<a href="${pipelines}" title="Its pipelines">${head}</a>${target !== undefined && ` → ${target}`}`
}
