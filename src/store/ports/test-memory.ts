// What is remembered of tests: their failures, and of each report what passed, so that reports of the same code can be compared. Of the reader of reports;
// the pages read it too.
import type { FlakyTest } from '../../model/job-tests.ts'
import type { Millis } from '../../model/instant.ts'
import type { TestName, TestOutcomes } from '../../model/test-report.ts'

/** One job's report. */
export interface RememberedReport extends TestOutcomes {
  readonly instance: string
  readonly projectId: number
  /** Its full path. */
  readonly project: string
  /** The job's name, without its number among parallel ones. */
  readonly job: string
  readonly jobId: number
  readonly pipelineId: number
  readonly revision: string
  /** How long the job took that failed, ms; 0 where it did not fail. */
  readonly lostMs: number
}

/** A test, over all of its reports. */
export interface TestFigures extends TestName {
  readonly instance: string
  readonly projectId: number
  readonly project: string
  readonly job: string
  /** How often: found to be flaky, failed, or among the slowest of its report. */
  readonly times: number
  readonly lastAt: Millis
  /** The latest job in which it was so, and that job's pipeline. */
  readonly jobId: number
  readonly pipelineId: number
  /** Of failed and flaky tests: what the jobs took that failed with it; of slow ones: what the test itself took, ms. */
  readonly costMs: number
}

export type TestQuestion = 'flaky' | 'failed' | 'slow'

export interface TestMemory {
  /**
   * Remembers a report, and answers which tests are thereby found to be flaky: those that failed and passed on the same revision. Once for each test and
   * revision; asked again about the same job it answers the same. `forgotten`: reports of the project that went for it, the oldest first.
   */
  record(report: RememberedReport): Promise<{ readonly flaky: readonly FlakyTest[]; readonly forgotten: number }>
  /** The tests that cost most, among the newest results. Of all projects where none is named, by its full path. */
  figures(
    question: TestQuestion,
    of: { readonly project?: string | undefined; readonly since: Millis; readonly limit: number },
  ): Promise<readonly TestFigures[]>
  /** Forgets what was reported and found before `before`; answers how many rows, at most twice `limit`. */
  prune(before: Millis, limit: number): Promise<number>
}

/** How long it is remembered, ms. */
export const testMemoryMs = 30 * 24 * 3_600_000
/** Bytes of one project. */
export const testMemoryBytes = 64 * 1024 * 1024
