// What to fix first: what cost the most time in the last week, of all that could be fixed, ranked. Pure.
import { addressWith } from '../layout/address.ts'
import { counted, duration, number } from '../layout/format.ts'
import { jobAddress } from '../pipelines/run-rows.ts'
import { longWait, type RunnersView } from '../runners/runner-figures.ts'
import type { Fix } from './fix-first-shape.ts'
import type { CostLine } from '../../core/store/ports/costs.ts'
import type { FoundFix } from './fix-source.ts'
import type { TestFigures } from '../../core/store/ports/test-memory.ts'
import type { TrendTotal } from '../../core/store/ports/trends.ts'

/** What the ranking is made of: all but the waits of the last week. */
export interface FixSources {
  /** Jobs with failures. */
  readonly jobs: readonly TrendTotal[]
  readonly flaky: readonly TestFigures[]
  readonly runners: Pick<RunnersView, 'tagSets' | 'since' | 'until'>
  /** Runner time by project. */
  readonly projects: readonly CostLine[]
  /** Those of features. */
  readonly others: readonly (FoundFix & Pick<Fix, 'kind'>)[]
  /** Cost of a ms of a job; undefined without a price table. */
  readonly rateOf: ((projectId: number, job: string) => number) | undefined
}

const week = 7 * 24 * 3_600_000
/** A job with fewer failures may only be new; one with a smaller share passes sometimes. */
const always = { failures: 5, share: 0.9 }
/** What costs less in a week is not worth a line. */
const leastMs = 60_000

export function fixesOf(sources: FixSources, limit: number): Fix[] {
  return [
    ...failingJobs(sources),
    ...flakyTests(sources),
    ...waits(sources),
    ...superseded(sources),
    ...others(sources),
  ]
    .filter(({ weekMs }) => weekMs >= leastMs)
    .sort((a, b) => b.weekMs - a.weekMs)
    .slice(0, limit)
}

function failingJobs({ jobs, rateOf }: FixSources): Fix[] {
  return jobs
    .filter(({ runs, failed }) => failed >= always.failures && failed >= runs * always.share)
    .map(({ projectId, project, job, runs, failed, totalMs }) => ({
      ...{ kind: 'failing', subject: job, project },
      ...priced((totalMs * failed) / runs, rateOf?.(projectId, job)),
      why: `Failed in ${failed === runs ? `all ${number(runs)}` : `${number(failed)} of ${number(runs)}`} runs.`,
      path: addressWith('/trends', { project: projectId, job }),
    }))
}

/** One for each job, because tests that fail together cost the same time: the most expensive test. */
function flakyTests({ flaky, rateOf }: FixSources): Fix[] {
  const byJob = Map.groupBy(flaky, ({ instance, projectId, job }) => JSON.stringify([instance, projectId, job]))
  return [...byJob.values()].flatMap((tests): Fix[] => {
    const [most] = tests.toSorted((a, b) => b.costMs - a.costMs)
    if (most === undefined) return []
    const { name, projectId, project, pipelineId, job, jobId, times, costMs } = most
    const others =
      tests.length === 1
        ? ''
        : ` ${counted(tests.length - 1, 'more test')} of this job ${tests.length === 2 ? 'is' : 'are'} flaky.`
    return [
      {
        ...{ kind: 'flaky_test', subject: name, project },
        ...priced(costMs, rateOf?.(projectId, job)),
        why: `Flaky on ${counted(times, 'revision')}; the time is that of the jobs (${job}) that failed with it.${others}`,
        path: jobAddress('', { projectId, pipelineId }, jobId),
      },
    ]
  })
}

/** Waits are known of the last day; waiting has no price. */
function waits({ runners: { tagSets, since, until } }: FixSources): Fix[] {
  return tagSets.map(({ tagSet, jobs, longWaits }) => ({
    kind: 'wait',
    subject: `Runners ${tagSet === undefined ? 'of unknown tags' : tagSet === '' ? 'without tags' : `with tags ${tagSet}`}`,
    weekMs: Math.round((longWaits.ms * week) / Math.max(1, until - since)),
    why: `${number(longWaits.jobs)} of ${counted(jobs, 'job')} waited longer than ${duration(longWait)} in the last day; the time is what they waited beyond it.`,
    path: '/runners',
  }))
}

function superseded({ projects, rateOf }: FixSources): Fix[] {
  return projects.map(({ projectId, project, wasted }) => ({
    ...{ kind: 'superseded', subject: 'Superseded pipelines', project },
    weekMs: wasted.superseded.totalMs,
    ...(rateOf !== undefined && { cost: wasted.superseded.cost }),
    why: 'Jobs ran for pipelines that were canceled because their branch had a newer one.',
    path: addressWith('/cost', { project: projectId }),
  }))
}

function others({ others: all, rateOf }: FixSources): Fix[] {
  return all.map(({ of, weekMs, ...one }) => ({ ...one, ...priced(weekMs, rateOf?.(of.projectId, of.job)) }))
}

function priced(weekMs: number, rate: number | undefined): Pick<Fix, 'weekMs' | 'cost'> {
  return { weekMs: Math.round(weekMs), ...(rate !== undefined && { cost: weekMs * rate }) }
}
