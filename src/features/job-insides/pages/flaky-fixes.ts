// Adds flaky tests to the list of what to fix first.
import { addressWith } from '../../../console/layout/address.ts'
import { counted } from '../../../console/layout/format.ts'
import { fixSources, type FoundFix } from '../../../console/overview/overview-shape.ts'
import { jobAddress } from '../../../console/pipelines/run-rows.ts'
import { testsIn, type TestFigures } from '../test-reads.ts'

/** The maximum number of flaky tests that are read, most expensive first. */
const maxRead = 20

export const flakyFixes = fixSources.with({
  kind: 'flaky_test',
  // Only the most expensive flaky test per job is listed, because tests that fail in the same job run cost the same time.
  read: async (parts, since) => {
    const flaky = await testsIn(parts).figures('flaky', { since, limit: maxRead })
    const byJob = Map.groupBy(flaky, ({ instance, projectId, job }) => JSON.stringify([instance, projectId, job]))
    const areSeveral = new Set(flaky.map(({ instance }) => instance)).size > 1
    return [...byJob.values()].flatMap(tests => flakyTest(tests, areSeveral))
  },
})

/** `areSeveral`: whether there are flaky tests of several platforms, whose pipelines may have the same IDs. */
function flakyTest(tests: readonly TestFigures[], areSeveral: boolean): FoundFix[] {
  const [most] = tests.toSorted((a, b) => b.costMs - a.costMs)
  if (most === undefined) return []
  const { name, instance, projectId, project, pipelineId, job, jobId, times, costMs } = most
  const others =
    tests.length === 1
      ? ''
      : ` ${counted(tests.length - 1, 'more test')} of this job ${tests.length === 2 ? 'is' : 'are'} flaky.`
  return [
    {
      ...{ subject: name, project, of: { instance, projectId, job }, weekMs: costMs },
      why: `Flaky on ${counted(times, 'revision')}; the time is the duration of the jobs (${job}) that failed with it.${others}`,
      path: addressWith(jobAddress('', { projectId, pipelineId }, jobId), {
        instance: areSeveral ? instance : undefined,
      }),
    },
  ]
}
