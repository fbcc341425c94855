// The verdict on a pipeline or a job, for its page and the JSON API.
import { z } from 'zod'
import { html, type Content } from '../layout/html.ts'
import { Slot } from '../../lib/slot.ts'
import {
  jobVerdict,
  pipelineVerdict,
  verdictOutcomes,
  type FailedTests,
  type RanOnce,
  type UsualJob,
  type Verdict,
} from '../../model/verdict.ts'
import { minRuns, type Usual } from './usual.ts'
import { ms, type Shaped } from '../layout/shape.ts'
import { startOf, type RunCard } from './run-card.ts'
import type { JobCard } from './job-card.ts'
import { verdictPartKinds, type JudgedJob, type VerdictPart } from '../../model/verdict-parts.ts'
import { verdictSentence } from '../../model/verdict-sentence.ts'
import { labelOf, type JobSections } from '../jobs/job-sections.ts'
import type { PagesParts } from '../ports.ts'
import type { RunKey } from '../../model/observation.ts'

export const verdictShape = z
  .object({
    sentence: z.string(),
    outcome: z
      .enum(verdictOutcomes)
      .describe('`took`: the pipeline or job passed, and its usual duration is not known.'),
    ms: ms.describe('Difference from the usual duration for `slower`, `faster` and `usual`, else the duration, in ms.'),
    parts: z
      .array(
        z.object({
          kind: z.enum(verdictPartKinds),
          name: z.string().optional().describe('Name of the job or section.'),
          times: z.number().describe('Number of steps of the critical path that this part adds up.'),
          ms,
        }) satisfies z.ZodType<VerdictPart>,
      )
      .describe('Parts of the time, the longest first. They add up to `ms`.'),
    comparedWith: z
      .number()
      .optional()
      .describe('ID of the pipeline with which this one is compared: a usual one, whose duration is the median.'),
  })
  .describe('Why the pipeline or job took as long as it did, or where it failed. Absent until it has ended.')
type ShownVerdict = Shaped<typeof verdictShape>

type FailedTestsById = ReadonlyMap<number, FailedTests>

/** The slot for a function that reads how many tests failed in the given jobs, and how many of those tests had been flaky before. */
export const failedTestsSlot = new Slot<
  (parts: PagesParts, key: RunKey, of: RunCard, jobs: readonly JobCard[]) => Promise<FailedTestsById>
>()

/** The maximum number of failed jobs whose tests are counted. A verdict names at most this many jobs. */
const maxJobs = 3

/** Reads the failed tests of failed jobs, by job id. */
export async function failedTestsOf(
  parts: PagesParts,
  key: RunKey,
  card: RunCard,
  jobs: readonly JobCard[],
): Promise<FailedTestsById> {
  const found = failedTestsSlot.of(parts).map(async read => read(parts, key, card, jobs.slice(0, maxJobs)))
  return new Map((await Promise.all(found)).flatMap(one => [...one]))
}

interface Known {
  readonly usual: Usual | undefined
  readonly usualRun: RunCard | undefined
  /** The failed tests, by job id. */
  readonly tests: FailedTestsById
}

/** Returns undefined if the pipeline has not ended. */
export function verdictOfRun(card: RunCard, { usual, usualRun, tests }: Known): ShownVerdict | undefined {
  const ran = ranOnce(card)
  if (ran === undefined) return undefined
  const { ms } = usualTimes(usual)
  const run = usualRun && ranOnce(usualRun)
  const found = pipelineVerdict({
    ...ran,
    status: card.status,
    tests,
    usual: ms === undefined ? undefined : { ms, run },
  })
  const isCompared = found !== undefined && ['slower', 'faster', 'usual'].includes(found.outcome)
  return found && { ...shownVerdict(found), comparedWith: isCompared ? usualRun?.pipelineId : undefined }
}

function ranOnce(card: RunCard): RanOnce | undefined {
  const [start, spent] = [startOf(card), card.spentMs]
  return start === undefined || spent === undefined
    ? undefined
    : { start, end: start + spent, jobs: card.jobs.map(judged) }
}

/** Returns undefined if the job has not ended or never ran. */
export function verdictOfJob(
  job: JobCard,
  usual: Usual | undefined,
  sections: JobSections | undefined,
  tests: FailedTests | undefined,
): ShownVerdict | undefined {
  const { sections: all = [] } = sections ?? {}
  const failedIn = all.findLast(({ failed }) => failed === true)
  const found = jobVerdict({
    ...judged(job),
    ...{ usual: usualTimes(usual), tests },
    sections: all
      .filter(({ parent }) => parent === undefined)
      .map(section => ({ name: labelOf(section), start: section.start, end: section.end })),
    failedIn: failedIn && labelOf(failedIn),
  })
  return found && shownVerdict(found)
}

/** Renders the verdict as the sentence at the top of a page. `href` returns the address of the comparison with another pipeline. */
export function verdictLine(verdict: ShownVerdict | undefined, href?: (pipelineId: number) => string): Content {
  if (verdict === undefined) return ''
  const { sentence, comparedWith } = verdict
  const link =
    comparedWith !== undefined &&
    href !== undefined &&
    html` <a href="${href(comparedWith)}">Compare with #${comparedWith}, which took as long as usual</a>`
  return html`<p class="verdict">${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.${link}</p>`
}

function shownVerdict(verdict: Verdict): ShownVerdict {
  const { outcome, ms, parts } = verdict
  return { sentence: verdictSentence(verdict), outcome, ms, parts }
}

function judged({ queuedMs, ...job }: JobCard): JudgedJob {
  return { ...job, queuedDuration: queuedMs === undefined ? undefined : queuedMs / 1_000 }
}

/** Returns a job's usual times; empty if too few runs were counted. */
function usualTimes(usual: Usual | undefined): UsualJob {
  return usual === undefined || usual.runs < minRuns ? {} : { ms: usual.p50, queueMs: usual.queueP50 }
}
