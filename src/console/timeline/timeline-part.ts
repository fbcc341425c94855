// The timeline's list, and the kinds of items that features add to it.
import { z } from 'zod'
import { html, pathText } from '../layout/html.ts'
import { jobLink, pipelineAddress } from '../pipelines/run-rows.ts'
import { listOf } from '../layout/list.ts'
import { millis, type Shaped } from '../layout/shape.ts'
import { since } from '../layout/format.ts'
import type { PeriodFilter } from '../../core/store/ports/project-scope.ts'
import type { Reads } from '../../core/store/ports/reads.ts'

export const timelineItems = listOf()({
  at: { json: millis, title: 'When', as: 'when', cell: ({ at }, { now }) => since(at, now) },
  kind: { json: z.string(), title: 'Kind', cell: ({ kind }) => nameOf(kind) },
  title: {
    json: z.string(),
    title: 'What',
    as: 'what',
    cell: ({ title, isBad }) => html`<span class="break ${isBad && 'bad-text'}">${title}</span>`,
  },
  instance: { json: z.string() },
  project: {
    json: z.string().optional().describe('Full path of the project, or of the group.'),
    title: 'Project',
    cell: ({ project = '' }) => (project === '' ? '–' : pathText(project)),
  },
  user: { json: z.string().optional(), title: 'By', as: 'by' },
  isBad: { json: z.boolean().describe('Whether something failed or an incident began.') },
  isProduction: {
    json: z.boolean().optional().describe('Only for deployments: whether PIPESPAN_PRODUCTION matches the environment.'),
  },
  projectId: {
    json: z
      .number()
      .optional()
      .describe('ID of the project. Only deployments have `projectId`, `pipelineId` and `jobId`.'),
  },
  jobId: {
    json: z.number().optional(),
    title: 'Job',
    as: 'job',
    cell: (item, context) => jobLink(item, context) ?? '–',
  },
  pipelineId: {
    json: z.number().optional(),
    title: 'Pipeline',
    as: 'pipeline',
    cell: ({ instance, projectId, pipelineId }, context) =>
      projectId === undefined || pipelineId === undefined
        ? '–'
        : html`<a href="${pipelineAddress(context.base, { instance, projectId, pipelineId }, context)}"
            >#${pipelineId}</a
          >`,
  },
})
export type TimelineItem = Shaped<typeof timelineItems.shape>

/** Returns the display name of a kind of timeline item; `many` is appended for the plural. */
export function nameOf(kind: string, many = ''): string {
  const name = kind === 'audit' ? 'audit event' : kind
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}${many}`
}

/** One kind of item that a feature adds to the timeline. */
export interface TimelinePart {
  readonly kind: string
  /** Reads the newest items within a period. */
  readonly items: (reads: Pick<Reads, 'on'>, within: PeriodFilter) => Promise<readonly TimelineItem[]>
}
