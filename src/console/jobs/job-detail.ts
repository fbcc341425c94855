// Everything about one job, for its page and the JSON API: facts, cost, sections, usual duration, recent runs, exported spans, and the parts that
// features add.
import { z } from 'zod'
import { hasFailed } from '../../model/status.ts'
import { historyOf, historyShape } from './job-history.ts'
import { runCard, runCardShape } from '../pipelines/run-card.ts'
import { jobList } from '../pipelines/job-card.ts'
import { jobSectionsShape, sectionsOf } from './job-sections.ts'
import { exportedSpanShape } from '../layout/attributes.ts'
import { usualShape } from '../pipelines/usual.ts'
import { failedTestsOf, verdictOfJob, verdictShape } from '../pipelines/verdict.ts'
import { ms, type Shaped } from '../layout/shape.ts'
import { Slot } from '../../lib/slot.ts'
import { viewJob, type Job } from '../../model/job.ts'
import type { Content } from '../layout/html.ts'
import type { JobInside, RanOn } from '../../model/inside.ts'
import type { JobSnapshot } from '../../model/chunk.ts'
import type { RequestContext } from '../layout/frame.ts'
import type { RunKey } from '../../model/observation.ts'
import type { PagesParts, PagesSettings, PagesSources } from '../ports.ts'

const ranOnShape = z.object({
  host: z.string().optional(),
  pod: z.string().optional(),
  node: z.string().optional(),
}) satisfies z.ZodType<RanOn>

const aboutShape = z.object({
  failureDomain: z.enum(['user', 'platform', 'unknown']).optional().describe('Who can fix the failure.'),
  startedBy: z.string().optional(),
  runnerType: z.string().optional(),
  tags: z.array(z.string()).optional(),
  ranOn: ranOnShape.optional().describe('Where the job ran, if the head of its log names the machine.'),
  environment: z.string().optional(),
  coverage: z.number().optional().describe('Coverage in percent.'),
  cost: z.object({ amount: z.number(), unit: z.string(), rate: z.string().optional() }).optional(),
  critical: z.boolean().optional(),
  slackMs: ms.optional(),
})
type JobAbout = Shaped<typeof aboutShape>

export const jobDetailShape = z.object({
  pipeline: runCardShape.omit({ jobs: true, failures: true }),
  job: jobList.shape,
  verdict: verdictShape.optional(),
  about: aboutShape,
  sections: jobSectionsShape.optional(),
  usual: usualShape.optional(),
  history: historyShape,
  spans: z.array(exportedSpanShape),
})
/** A job's details. A field is undefined if there is no data for it. */
export type JobDetail = Shaped<typeof jobDetailShape>

/** What a feature adds to the job page and to the JSON API's response about a job. */
export interface JobPart {
  /** The shapes of the response fields that `read` returns. */
  readonly fields: z.ZodRawShape
  readonly read: (parts: PagesParts, key: RunKey, jobId: number) => Promise<object>
  /** Renders links in the header of the job page. */
  readonly links: (detail: JobDetail, settings: PagesSettings, context: RequestContext) => Content
  /** Renders cards below the reasons for a job's failure. `detail` includes the result of `read`. */
  readonly failure: (
    parts: PagesParts,
    settings: PagesSettings,
    asked: AskedJob,
    detail: JobDetail,
    context: RequestContext,
  ) => Promise<Content>
  /** Explains why the sections of the job's log are not available. */
  readonly withoutSections: (detail: JobDetail) => Content
}

export const jobParts = new Slot<JobPart>()

export function jobDetailShapeOf(parts: Pick<PagesParts, 'fillings'>) {
  return jobDetailShape.extend(Object.assign({}, ...jobParts.of(parts).map(one => one.fields)) as z.ZodRawShape)
}

export interface AskedJob {
  readonly projectId: number
  readonly pipelineId: number
  readonly jobId: number
  readonly instance?: string | undefined
}

/** The maximum number of chunks read for a job. Each run of a job has one chunk with sections. */
const maxReadings = 20

/** Returns undefined if there is no such job. */
export async function jobDetail(
  parts: PagesParts,
  settings: Pick<PagesSettings, 'costUnit'>,
  asked: AskedJob,
): Promise<JobDetail | undefined> {
  const { jobId } = asked
  const stored = await parts.views.find(asked.projectId, asked.pipelineId, asked.instance)
  if (stored === undefined) return undefined
  const card = runCard(stored, parts.clock)
  const job = card.jobs.find(({ id }) => id === jobId)
  const known = stored.run.jobs.get(jobId)
  if (job === undefined || known === undefined) return undefined
  const { key } = stored.run
  const [chunks, insides, usuals, history, failed] = await Promise.all([
    parts.views.chunks(key),
    parts.views.sections(key, maxReadings, jobId),
    parts.usuals.of(card, [job.name]),
    historyOf(parts, card, job),
    failedTestsOf(parts, key, card, [job]),
  ])
  const itsOwn = chunks.filter(({ jobs }) => jobs.some(({ id }) => id === jobId))
  const usual = usuals.get(job.name)
  const sections = sectionsOf(insides, jobId)
  const { jobs: _, failures: __, ...pipeline } = card
  const added = await Promise.all(jobParts.of(parts).map(async part => part.read(parts, key, jobId)))
  return {
    ...(Object.assign({}, ...added) as object),
    ...{ pipeline, job, history, usual, sections },
    verdict: verdictOfJob(job, usual, sections, failed.get(jobId)),
    about: aboutOf(
      { known, snapshots: itsOwn.flatMap(({ jobs }) => jobs.filter(({ id }) => id === jobId)), insides },
      parts,
      settings,
    ),
    spans: parts.exported(itsOwn).filter(span => span.jobId === jobId),
  }
}

interface Known {
  readonly known: Job
  /** The job's snapshots, one per run. */
  readonly snapshots: readonly JobSnapshot[]
  /** The sections and other data extracted from the job's log. */
  readonly insides: readonly JobInside[]
}

function aboutOf(
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
