// The lists on the environments page: the latest deployments, and incidents by project.
import { z } from 'zod'
import { badge } from '../../../console/layout/status.ts'
import { duration, figure, number, shortSha, since } from '../../../console/layout/format.ts'
import { html, pathText, type Html } from '../../../console/layout/html.ts'
import { jobLink } from '../../../console/pipelines/run-rows.ts'
import { drawn, listOf } from '../../../console/layout/list.ts'
import { millis, ms, place, type Shaped } from '../../../console/layout/shape.ts'
import { scopeAddress, type Scope } from '../../../console/layout/scope-heading.ts'
import type { RequestContext } from '../../../console/layout/frame.ts'

/** `project` is the project that the page shows; if undefined, it shows all projects. */
export interface ShownContext extends RequestContext, Pick<Scope, 'span' | 'project'> {}

export const incidentList = listOf()({
  project: {
    json: place.project,
    title: 'Project',
    cell: ({ project }) => (project === '' ? '–' : pathText(project)),
  },
  instance: { json: place.instance },
  projectId: { json: place.projectId },
  opened: {
    json: z.number().describe('Incidents that were opened in this period.'),
    title: 'Opened',
    cell: ({ opened }) => figure(number(opened)),
  },
  open: {
    json: z.number().describe('Incidents that are open now, whenever they were opened.'),
    title: 'Open now',
    cell: ({ open }) => (open > 0 ? html`<span class="figure bad-text">${number(open)}</span>` : figure('0')),
  },
  restored: {
    json: ms.optional().describe('Median time from opening to closing of the incidents opened in this period, in ms.'),
    title: 'Time to restore',
    as: 'restore',
    cell: ({ restored }) => figure(duration(restored)),
  },
  perDeployment: {
    json: z.number().optional().describe('Incidents opened per successful deployment to production.'),
    title: 'Per deployment',
    as: 'each',
    cell: ({ perDeployment }) => figure(perDeployment?.toFixed(2) ?? '–'),
  },
})
export type IncidentSummary = Shaped<typeof incidentList.shape>

export const deploymentList = listOf<never, ShownContext>()({
  at: { json: millis, title: 'When', cell: ({ at }, { now }) => since(at, now) },
  environment: {
    json: z.string().optional(),
    title: 'Environment',
    cell: (one, context) => environmentName(one, context),
  },
  instance: { json: place.instance },
  projectId: { json: place.projectId },
  project: { json: place.project },
  tier: { json: z.string().optional() },
  isProduction: { json: z.boolean().describe('Whether PIPESPAN_PRODUCTION matches the environment.') },
  status: {
    json: z.string().describe('Status as the platform reports it.'),
    title: 'Status',
    cell: ({ status, isRollback }) =>
      html`${badge(status)}${isRollback === true && html`<br /><span class="dim">a rollback</span>`}`,
  },
  outcome: { json: z.enum(['succeeded', 'failed']).optional() },
  startedAt: { json: millis.optional() },
  finishedAt: { json: millis.optional() },
  revision: {
    json: z.string().optional(),
    title: 'Revision',
    by: null,
    cell: ({ revision }) => html`<code title="${revision}">${shortSha(revision)}</code>`,
  },
  committedAt: { json: millis.optional() },
  ref: { json: z.string().optional() },
  user: { json: z.string().optional(), title: 'By' },
  took: {
    ...drawn,
    title: 'Took',
    by: ({ startedAt, finishedAt }) => lengthOf(startedAt, finishedAt),
    cell: ({ startedAt, finishedAt }) => figure(duration(lengthOf(startedAt, finishedAt))),
  },
  jobId: {
    json: z.number().optional(),
    title: 'Job',
    as: 'job',
    by: null,
    cell: (one, context) => jobLink(one, context) ?? '–',
  },
  deploymentId: { json: z.number().optional() },
  pipelineId: { json: z.number().optional() },
  isRollback: { json: z.literal(true).optional() },
  recovery: { json: ms.optional() },
})

export type ListedDeployment = Shaped<typeof deploymentList.shape>

function lengthOf(start: number | undefined, end: number | undefined): number | undefined {
  return start === undefined || end === undefined ? undefined : end - start
}

interface Named {
  readonly environment?: string | undefined
  readonly tier?: string | undefined
  readonly isProduction: boolean
  readonly project: string
}

/** The name of an environment, preceded by its project if the page shows all projects. */
export function environmentName(
  { environment = '', tier, isProduction, project }: Named,
  { base, span, project: chosen }: ShownContext,
): Html {
  const kinds = new Set([...(tier === undefined ? [] : [tier]), ...(isProduction ? ['production'] : [])])
  const notes = [...kinds].filter(kind => kind !== environment)
  return html`<span class="name"
    >${environment}${notes.length > 0 && html` <span class="dim">(${notes.join(', ')})</span>`}${
      chosen === undefined &&
      html`<br /><span class="dim"
          ><a href="${scopeAddress(`${base}/environments`, { span, project })}">${pathText(project)}</a></span
        >`
    }</span
  >`
}
