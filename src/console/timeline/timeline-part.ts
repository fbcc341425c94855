// An item of the timeline, and what features add to it.
import { z } from 'zod'
import { millis, type Shaped } from '../layout/shape.ts'
import type { PeriodFilter } from '../../core/store/ports/project-scope.ts'
import type { Reads } from '../../core/store/ports/reads.ts'

export const itemShape = z.object({
  kind: z.string(),
  at: millis,
  title: z.string(),
  instance: z.string(),
  project: z.string().optional().describe('Full path of the project, or of the group.'),
  user: z.string().optional(),
  isBad: z.boolean().describe('Something failed, or an incident began.'),
  isProduction: z.boolean().optional().describe('For deployments: as PIPESPAN_PRODUCTION says.'),
  projectId: z.number().optional().describe('For deployments; also `pipelineId` and `jobId`.'),
  pipelineId: z.number().optional(),
  jobId: z.number().optional(),
})
export type TimelineItem = Shaped<typeof itemShape>

/** What a feature adds to the timeline: one kind of items. */
export interface TimelinePart {
  readonly kind: string
  /** The newest within a period. */
  readonly items: (reads: Pick<Reads, 'on'>, within: PeriodFilter) => Promise<readonly TimelineItem[]>
}
