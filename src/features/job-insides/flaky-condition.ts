// Flaky tests as conditions that people may be notified about. Pure.
import { addressBelow, nameOf, type Condition } from '../../model/condition.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { FlakyTest } from '../../model/job-tests.ts'
import type { Millis } from '../../model/instant.ts'

/** A test that failed and passed on the same code. It is never over: a test that passes may still be flaky. */
export function ofFlakyTests(
  { key, project }: Chunk,
  { id, name = '', end }: FlakyJob,
  tests: readonly FlakyTest[],
): Condition[] {
  return tests.map(({ suite, name: test, within }) => ({
    ...{ kind: 'flaky-tests', instance: key.instance, project, subject: JSON.stringify([suite, test]), at: end },
    ...{ state: 'broken', version: [Math.round(end)] },
    title: `${nameOf(project)}: test ${test} is flaky`,
    text: `It failed and passed ${within === 'report' ? 'in one run of' : 'on the same revision in'} job ${name}.`,
    url: addressBelow(key.instance, project, `jobs/${id}`),
    details: {
      ...{ 'test.case.name': test, 'test.suite.name': suite, 'cicd.pipeline.task.name': name },
      'cicd.pipeline.task.run.id': String(id),
    },
  }))
}

interface FlakyJob {
  readonly id: number
  readonly name?: string | undefined
  readonly end: Millis
}
