// How many tests failed in a job, and how many of them had been flaky before, for verdicts.
import { groupNameOf } from '../../model/job-name.ts'
import { hasFailed } from '../../model/status.ts'
import { reportOf, type JobReport } from '../jobs/job-tests.ts'
import { testMemoryMs } from '../../core/store/ports/test-memory.ts'
import type { FailedTests } from '../../model/verdict.ts'
import type { JobCard, RunCard } from './run-card.ts'
import type { PagesSources } from '../ports.ts'
import type { RunKey } from '../../model/observation.ts'

/** Failed jobs whose reports are read: as many as a verdict names. */
const maxJobs = 3
/** Chunks of a job's tests that are read. */
const maxReadings = 20
/** Flaky tests of a project that are read. */
const maxFlaky = 1_000

type Of = Pick<RunCard, 'instance' | 'projectId' | 'project'>
type Sources = Pick<PagesSources, 'views' | 'tests'>

/** By job id, of the jobs that made the pipeline fail. */
export async function failedTestsOf(
  parts: Sources,
  key: RunKey,
  { failures, ...of }: RunCard,
): Promise<ReadonlyMap<number, FailedTests>> {
  const found = await Promise.all(
    failures.slice(0, maxJobs).map(async job => {
      const report = reportOf(await parts.views.tests(key, maxReadings, job.id))
      return [job.id, await failedTestsOfJob(parts, of, job, report)] as const
    }),
  )
  return new Map(found.flatMap(([id, tests]) => (tests === undefined ? [] : [[id, tests]])))
}

/** Undefined if no test failed, or no report was read. */
export async function failedTestsOfJob(
  { tests }: Pick<Sources, 'tests'>,
  { instance, projectId, project }: Of,
  { name, status, finishedAt }: JobCard,
  report: JobReport | undefined,
): Promise<FailedTests | undefined> {
  if (report === undefined || finishedAt === undefined || !hasFailed(status)) return undefined
  const { total, failed, errored } = report.totals
  if (failed + errored === 0) return undefined
  const since = finishedAt - testMemoryMs
  const known = await tests.figures('flaky', { project, since, until: finishedAt, limit: maxFlaky })
  const flaky = new Set(
    known
      .filter(one => one.instance === instance && one.projectId === projectId && one.job === groupNameOf(name))
      .map(nameOf),
  )
  return { total, failed: failed + errored, flaky: report.failures.filter(one => flaky.has(nameOf(one))).length }
}

function nameOf({ suite, name }: { readonly suite: string; readonly name: string }): string {
  return JSON.stringify([suite, name])
}
