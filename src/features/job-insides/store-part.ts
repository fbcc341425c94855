// The tables for pending job reads and for test results, and how long their rows are kept.
import { testMemory } from './test-memory.ts'
import { maxWait } from '../../core/store/sql/too-far-ahead.ts'
import type { Dialect } from '../../core/store/ports/store-part.ts'
import type { StorePart } from '../../core/store/ports/store-part.ts'

const day = 24 * 3_600_000
/** The retention of test results, ms. */
export const testMemoryMs = 30 * day

export const insideTables: StorePart = {
  name: 'job-insides',
  schema: [queueSchema, testSchema],
  queues: ['job_reads'],
  waits: [{ table: 'job_reads', max: maxWait, since: 'pending_since' }],
  times: [
    ['test_reports', 'reported_at'],
    ['flaky_tests', 'found_at'],
    ['flaky_jobs', 'found_at'],
  ],
  kept: (on, _, steps) => [
    {
      ...{ kind: 'test_reports', keep: testMemoryMs, spared: { nearlyFull: day, full: day } },
      sweep: () => async (before, isEnough) => steps.repeat(async rows => on(testMemory).prune(before, rows), isEnough),
    },
  ],
}

/** The table of pending job reads. An entry refers to the chunk with the job's span by the number of that chunk within its attempt. */
function queueSchema({ id }: Dialect): string {
  return `
    CREATE TABLE job_reads (
      id            ${id},
      run_id        bigint  NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
      attempt       integer NOT NULL,
      number        integer NOT NULL,
      job_id        bigint  NOT NULL,
      what          text    NOT NULL,
      pending_since bigint  NOT NULL,
      due_at        bigint  NOT NULL,
      tries         integer NOT NULL DEFAULT 0,
      leased        integer NOT NULL DEFAULT 0,
      UNIQUE (run_id, attempt, number, job_id, what)
    );
    CREATE INDEX job_reads_due ON job_reads (due_at, id);
    `
}

/** The tables of test results. A store may already have them, because earlier versions of the core created them. */
function testSchema({ id, bytes, byKey }: Dialect): string {
  return `
  -- The test reports of jobs. Reports of the same revision are compared. \`passed\` is a packed set of the hashes of tests that passed. \`size\` is
  -- the number of bytes in all rows of the report. \`lost_ms\` is the duration of the job if it failed, otherwise 0. \`reported_at\` is when the job
  -- ended.
  CREATE TABLE IF NOT EXISTS test_reports (
    id          ${id},
    instance    text     NOT NULL,
    project_id  bigint   NOT NULL,
    project     text     NOT NULL,
    job         text     NOT NULL,
    revision    text     NOT NULL,
    job_id      bigint   NOT NULL,
    pipeline_id bigint   NOT NULL,
    lost_ms     bigint   NOT NULL,
    reported_at bigint   NOT NULL,
    size        bigint   NOT NULL,
    passed      ${bytes} NOT NULL,
    UNIQUE (instance, job_id)
  );
  CREATE INDEX IF NOT EXISTS test_reports_by_code ON test_reports (instance, project_id, job, revision, id);
  CREATE INDEX IF NOT EXISTS test_reports_by_project ON test_reports (instance, project_id, reported_at, id, size);
  CREATE INDEX IF NOT EXISTS test_reports_by_path ON test_reports (project, reported_at);
  CREATE INDEX IF NOT EXISTS test_reports_by_time ON test_reports (reported_at);

  -- The tests of a report that have a row each: failed tests, tests that were flaky within the report, and the slowest tests.
  CREATE TABLE IF NOT EXISTS test_cases (
    report_id bigint NOT NULL REFERENCES test_reports (id) ON DELETE CASCADE,
    kind      text   NOT NULL,
    test      bigint NOT NULL,
    suite     text   NOT NULL,
    name      text   NOT NULL,
    ms        bigint NOT NULL,
    PRIMARY KEY (report_id, kind, test)
  ) ${byKey};

  -- The tests that failed and passed on the same revision, each with the job whose report revealed this.
  CREATE TABLE IF NOT EXISTS flaky_tests (
    instance    text   NOT NULL,
    project_id  bigint NOT NULL,
    job         text   NOT NULL,
    revision    text   NOT NULL,
    test        bigint NOT NULL,
    project     text   NOT NULL,
    suite       text   NOT NULL,
    name        text   NOT NULL,
    within_what text   NOT NULL,
    job_id      bigint NOT NULL,
    pipeline_id bigint NOT NULL,
    found_at    bigint NOT NULL,
    lost_ms     bigint NOT NULL,
    PRIMARY KEY (instance, project_id, job, revision, test)
  ) ${byKey};
  CREATE INDEX IF NOT EXISTS flaky_tests_by_time ON flaky_tests (found_at);

  -- The jobs that failed with flaky tests. Each has one row, so that it counts once, however many of its tests were flaky.
  CREATE TABLE IF NOT EXISTS flaky_jobs (
    instance   text   NOT NULL,
    job_id     bigint NOT NULL,
    project_id bigint NOT NULL,
    project    text   NOT NULL,
    -- When the last flaky test of the job was found.
    found_at   bigint NOT NULL,
    lost_ms    bigint NOT NULL,
    PRIMARY KEY (instance, job_id)
  );
  CREATE INDEX IF NOT EXISTS flaky_jobs_by_time ON flaky_jobs (found_at);
  `
}
