// Facts about a job that lists do not show: runner, cost, failure domain, slack.
import { hasFailed } from '../../model/status.ts'
import { z } from 'zod'
import { ms, type Shaped } from '../layout/shape.ts'
import { viewJob, type Job } from '../../model/job.ts'
import type { PagesSettings, PagesSources } from '../ports.ts'
import type { JobInside, RanOn } from '../../model/inside.ts'
import type { JobSnapshot } from '../../model/chunk.ts'

const ranOnShape = z.object({
  host: z.string().optional(),
  pod: z.string().optional(),
  node: z.string().optional(),
}) satisfies z.ZodType<RanOn>

export const aboutShape = z.object({
  failureDomain: z.enum(['user', 'platform', 'unknown']).optional().describe('Who can fix the failure.'),
  startedBy: z.string().optional(),
  runnerType: z.string().optional(),
  tags: z.array(z.string()).optional(),
  ranOn: ranOnShape.optional().describe('Where it ran, if the head of its log says that.'),
  environment: z.string().optional(),
  coverage: z.number().optional().describe('Percent.'),
  cost: z.object({ amount: z.number(), unit: z.string(), rate: z.string().optional() }).optional(),
  critical: z.boolean().optional(),
  slackMs: ms.optional(),
})
type JobAbout = Shaped<typeof aboutShape>

interface Known {
  readonly known: Job
  /** Its snapshots, one for each of its runs. */
  readonly snapshots: readonly JobSnapshot[]
  /** What was read of its log. */
  readonly insides: readonly JobInside[]
}

export function aboutOf(
  { known, snapshots, insides }: Known,
  { failureDomain }: Pick<PagesSources, 'failureDomain'>,
  { costUnit = 'min' }: Pick<PagesSettings, 'costUnit'>,
): JobAbout {
  const job = viewJob(known)
  const last = snapshots.at(-1)
  return {
    failureDomain: hasFailed(job.status) ? failureDomain(job.failureReason) : undefined,
    startedBy: job.user?.username,
    runnerType: job.runner?.type,
    tags: job.runner?.tags ?? job.tags,
    ranOn: insides.findLast(({ ranOn }) => ranOn !== undefined)?.ranOn,
    environment: job.environment?.name,
    coverage: job.coverage,
    cost: last?.cost === undefined ? undefined : { amount: last.cost, unit: costUnit, rate: last.rate },
    critical: last?.critical,
    slackMs: last?.slack,
  }
}
