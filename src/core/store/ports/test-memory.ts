// Test results: failures, and the passed tests of each report, so that reports of one revision can be compared. Written by the reader of
// reports; pages read them, too.
import type { FlakyTest } from '../../../model/job-tests.ts'
import type { Millis } from '../../../model/instant.ts'
import type { ProjectScope } from './project-scope.ts'
import type { TestName, TestOutcomes } from '../../../model/test-report.ts'

/** One job's report. */
export interface RememberedReport extends TestOutcomes {
  readonly instance: string
  readonly projectId: number
  /** Full path. */
  readonly project: string
  /** The job's name without the number of a parallel job. */
  readonly job: string
  readonly jobId: number
  readonly pipelineId: number
  readonly revision: string
  /** When the job ended, which dates its tests: the report may be read much later. */
  readonly endedAt: Millis
  /** How long the job took if it failed, else 0. */
  readonly lostMs: number
}

/** One test over all of its reports. */
export interface TestFigures extends TestName {
  readonly instance: string
  readonly projectId: number
  readonly project: string
  readonly job: string
  /** How often it was flaky, failed, or was among the slowest of its report. */
  readonly times: number
  readonly lastAt: Millis
  /** The latest such job, and its pipeline. */
  readonly jobId: number
  readonly pipelineId: number
  /** Time of the jobs that failed with it, for flaky and failed tests; for slow ones its own time. */
  readonly costMs: number
}

/** The jobs of one project that failed with flaky tests. Each job counts once, however many of its tests are flaky. */
export interface FlakyTime {
  /** Full path. */
  readonly project: string
  readonly jobs: number
  /** How long they took, ms. */
  readonly lostMs: number
}

/** Findings of one day. */
export interface FlakyDay {
  /** Its beginning. */
  readonly at: Millis
  /** Tests that failed and passed on the same revision. */
  readonly retried: number
  /** Tests that were repeated within one report until they passed. */
  readonly repeated: number
}

export type TestQuestion = 'flaky' | 'failed' | 'slow'

export interface TestMemory {
  /**
   * Stores a report and returns the tests that it shows to be flaky: they failed and passed on the same revision. Each is returned
   * once per revision; a repeated call for the same job returns the same. `forgotten`: how many of the project's oldest reports were
   * deleted to make room.
   */
  record(report: RememberedReport): Promise<{ readonly flaky: readonly FlakyTest[]; readonly forgotten: number }>
  /** The most expensive tests, among the newest results from `since` until before `until`. `project`: full path; undefined: all. */
  figures(
    question: TestQuestion,
    of: {
      readonly project?: ProjectScope | undefined
      readonly since: Millis
      readonly until?: Millis | undefined
      readonly limit: number
    },
  ): Promise<readonly TestFigures[]>
  /** What flaky tests cost: the jobs that failed with those that were found since then. The most expensive project first. */
  flakyTime(of: { readonly project?: ProjectScope | undefined; readonly since: Millis }): Promise<readonly FlakyTime[]>
  /** How many flaky tests were found on each day (UTC), among the newest findings since then. Oldest first, without days that have none. */
  flakyDays(of: { readonly project?: ProjectScope | undefined; readonly since: Millis }): Promise<readonly FlakyDay[]>
  /** Deletes rows of jobs that ended before; returns how many, at most three times `limit`. */
  prune(before: Millis, limit: number): Promise<number>
}

/** How long results are stored, ms. */
export const testMemoryMs = 30 * 24 * 3_600_000
/** Bytes per project. */
export const testMemoryBytes = 64 * 1024 * 1024
