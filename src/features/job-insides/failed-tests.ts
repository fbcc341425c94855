// Counts how many tests failed in a job, and how many of these were already known to be flaky. The verdict on a pipeline uses the counts.
import { failedTestsSlot } from '../../console/pipelines/verdict.ts'
import { hasFailed } from '../../model/status.ts'
import { reportOf } from './pages/job-tests.ts'
import { testMemoryMs } from './store-part.ts'
import { testedName, testsIn } from './test-reads.ts'
import type { FailedTests } from '../../model/verdict.ts'
import type { RunCard } from '../../console/pipelines/run-card.ts'
import type { JobCard } from '../../console/pipelines/job-card.ts'
import type { PagesParts } from '../../console/ports.ts'
import type { RunKey } from '../../model/observation.ts'

/** The maximum number of chunks with test results that are read per job. */
const maxReadings = 20
/** The maximum number of flaky tests that are read per project. */
const maxFlaky = 1_000

export const failedTests = failedTestsSlot.with(async (parts, key, of, jobs) => {
  const found = await Promise.all(jobs.map(async job => [job.id, await failedTestsIn(parts, key, of, job)] as const))
  return new Map(found.flatMap(([id, tests]) => (tests === undefined ? [] : [[id, tests]])))
})

/** Returns undefined if no test failed, or no report was read. */
export async function failedTestsIn(
  parts: Pick<PagesParts, 'views' | 'on'>,
  key: RunKey,
  { instance, projectId, project }: Pick<RunCard, 'instance' | 'projectId' | 'project'>,
  { id, name, status, finishedAt }: JobCard,
): Promise<FailedTests | undefined> {
  if (finishedAt === undefined || !hasFailed(status)) return undefined
  const report = reportOf(await parts.views.tests(key, maxReadings, id))
  if (report === undefined) return undefined
  const { total, failed, errored } = report.totals
  if (failed + errored === 0) return undefined
  const since = finishedAt - testMemoryMs
  const known = await testsIn(parts).figures('flaky', { project, since, until: finishedAt, limit: maxFlaky })
  const flaky = new Set(
    known
      .filter(one => one.instance === instance && one.projectId === projectId && one.job === testedName(name))
      .map(nameOf),
  )
  return { total, failed: failed + errored, flaky: report.failures.filter(one => flaky.has(nameOf(one))).length }
}

function nameOf({ suite, name }: { readonly suite: string; readonly name: string }): string {
  return JSON.stringify([suite, name])
}
