// What is known here of what could be fixed: jobs that always fail, flaky tests, and superseded pipelines.
import { addressWith } from '../../../console/layout/address.ts'
import { costsIn } from '../cost/sql.ts'
import { counted, number } from '../../../console/layout/format.ts'
import { day, type TrendTotal } from '../counting/figures.ts'
import { jobAddress } from '../../../console/pipelines/run-rows.ts'
import { trendsIn } from '../reading/sql.ts'
import type { FixSource, FoundFix } from '../../../console/overview/fix-source.ts'
import type { TestFigures } from '../../../core/store/ports/test-memory.ts'

/** A job with fewer failures may only be new; one with a smaller share passes sometimes. */
const always = { failures: 5, share: 0.9 }
/** How many jobs, tests and projects are read, the most expensive of each. */
const maxRead = { failing: 50, flaky: 20, projects: 500 }

export const ownSources: readonly FixSource[] = [
  {
    kind: 'failing',
    read: async (parts, since, until) => {
      const jobs = await trendsIn(parts).jobs('failing', { step: day, since, until }, maxRead.failing)
      return jobs
        .filter(({ runs, failed }) => failed >= always.failures && failed >= runs * always.share)
        .map(failingJob)
    },
  },
  {
    kind: 'flaky_test',
    // One for each job, because tests that fail together cost the same time: the most expensive test.
    read: async (parts, since) => {
      const flaky = await parts.tests.figures('flaky', { since, limit: maxRead.flaky })
      const byJob = Map.groupBy(flaky, ({ instance, projectId, job }) => JSON.stringify([instance, projectId, job]))
      return [...byJob.values()].flatMap(flakyTest)
    },
  },
  {
    kind: 'superseded',
    read: async (parts, since, until) => {
      const projects = await costsIn(parts).lines('project', { since, until }, maxRead.projects)
      return projects.map(({ projectId, project, wasted: { superseded } }) => ({
        ...{ subject: 'Superseded pipelines', project, weekMs: superseded.totalMs, cost: superseded.cost },
        why: 'Jobs ran for pipelines that were canceled because their branch had a newer one.',
        path: addressWith('/cost', { project: projectId }),
      }))
    },
  },
]

function failingJob({ projectId, project, job, runs, failed, totalMs }: TrendTotal): FoundFix {
  return {
    ...{ subject: job, project, of: { projectId, job }, weekMs: (totalMs * failed) / runs },
    why: `Failed in ${failed === runs ? `all ${number(runs)}` : `${number(failed)} of ${number(runs)}`} runs.`,
    path: addressWith('/trends', { project: projectId, job }),
  }
}

function flakyTest(tests: readonly TestFigures[]): FoundFix[] {
  const [most] = tests.toSorted((a, b) => b.costMs - a.costMs)
  if (most === undefined) return []
  const { name, projectId, project, pipelineId, job, jobId, times, costMs } = most
  const others =
    tests.length === 1
      ? ''
      : ` ${counted(tests.length - 1, 'more test')} of this job ${tests.length === 2 ? 'is' : 'are'} flaky.`
  return [
    {
      ...{ subject: name, project, of: { projectId, job }, weekMs: costMs },
      why: `Flaky on ${counted(times, 'revision')}; the time is that of the jobs (${job}) that failed with it.${others}`,
      path: jobAddress('', { projectId, pipelineId }, jobId),
    },
  ]
}
