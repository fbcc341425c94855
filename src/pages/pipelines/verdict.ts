// The verdict about a pipeline or a job, for its page and the JSON API.
import { z } from 'zod'
import { html, type Content } from '../layout/html.ts'
import { jobVerdict, pipelineVerdict, verdictOutcomes, type FailedTests, type Verdict } from '../../model/verdict.ts'
import { minRuns, type Usual } from './usual.ts'
import { ms, type Shaped } from '../layout/shape.ts'
import { startOf, type JobCard, type RunCard } from './run-card.ts'
import { verdictPartKinds, type JudgedJob, type UsualJob, type VerdictPart } from '../../model/verdict-parts.ts'
import { verdictSentence } from '../../model/verdict-sentence.ts'
import { labelOf, type JobSections } from '../jobs/job-sections.ts'

export const verdictShape = z
  .object({
    sentence: z.string(),
    outcome: z.enum(verdictOutcomes).describe('`took`: it passed, and its usual duration is not known.'),
    ms: ms.describe('Difference from the usual duration for `slower`, `faster` and `usual`, else the duration, in ms.'),
    parts: z
      .array(
        z.object({
          kind: z.enum(verdictPartKinds),
          name: z.string().optional().describe('Of the job or section.'),
          times: z.number().describe('How many steps of the critical path it sums.'),
          ms,
        }) satisfies z.ZodType<VerdictPart>,
      )
      .describe('The longest first. They add up to `ms`.'),
  })
  .describe('Why it took as long as it did, or where it failed. Absent while it has not ended.')
export type ShownVerdict = Shaped<typeof verdictShape>

interface Known {
  readonly usual: Usual | undefined
  /** By job name. */
  readonly jobUsuals: Readonly<Record<string, Usual>>
  /** By job id. */
  readonly tests: ReadonlyMap<number, FailedTests>
}

/** Undefined while the pipeline has not ended. */
export function verdictOfRun(card: RunCard, { usual, jobUsuals, tests }: Known): ShownVerdict | undefined {
  const [start, spent] = [startOf(card), card.spentMs]
  if (start === undefined || spent === undefined) return undefined
  const { ms } = usualTimes(usual)
  const jobs = new Map(Object.entries(jobUsuals).map(([name, one]) => [name, usualTimes(one)]))
  return shownVerdict(
    pipelineVerdict({
      ...{ status: card.status, start, end: start + spent, tests },
      jobs: card.jobs.map(judged),
      usual: ms === undefined ? undefined : { ms, jobs },
    }),
  )
}

/** Undefined while the job has not ended, and if it never ran. */
export function verdictOfJob(
  job: JobCard,
  usual: Usual | undefined,
  sections: JobSections | undefined,
  tests: FailedTests | undefined,
): ShownVerdict | undefined {
  const { sections: all = [] } = sections ?? {}
  const failedIn = all.findLast(({ failed }) => failed === true)
  return shownVerdict(
    jobVerdict({
      ...judged(job),
      ...{ usual: usualTimes(usual), tests },
      sections: all
        .filter(({ parent }) => parent === undefined)
        .map(section => ({ name: labelOf(section), start: section.start, end: section.end })),
      failedIn: failedIn && labelOf(failedIn),
    }),
  )
}

/** The sentence at the top of a page. */
export function verdictLine(verdict: ShownVerdict | undefined): Content {
  if (verdict === undefined) return ''
  const { sentence } = verdict
  return html`<p class="verdict">${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.</p>`
}

function shownVerdict(verdict: Verdict | undefined): ShownVerdict | undefined {
  if (verdict === undefined) return undefined
  const { outcome, ms, parts } = verdict
  return { sentence: verdictSentence(verdict), outcome, ms, parts }
}

function judged({ queuedMs, ...job }: JobCard): JudgedJob {
  return { ...job, queuedDuration: queuedMs === undefined ? undefined : queuedMs / 1_000 }
}

/** With too few runs nothing is usual. */
function usualTimes(usual: Usual | undefined): UsualJob {
  return usual === undefined || usual.runs < minRuns ? {} : { ms: usual.p50, queueMs: usual.queueP50 }
}
