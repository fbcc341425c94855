// The tables of test results, of both databases (`schema.ts`).
import type { Dialect } from './dialect.ts'

export function testSchema({ id, bytes, byKey }: Dialect): string {
  return `
  -- Test reports of jobs, for comparing those of the same revision. \`passed\`: a packed set of hashes. \`size\`: bytes of all its rows. \`lost_ms\`: how
  -- long the job took, if it failed. \`reported_at\`: when the job ended.
  CREATE TABLE test_reports (
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
  CREATE INDEX test_reports_by_code ON test_reports (instance, project_id, job, revision, id);
  CREATE INDEX test_reports_by_project ON test_reports (instance, project_id, reported_at, id, size);
  CREATE INDEX test_reports_by_path ON test_reports (project, reported_at);
  CREATE INDEX test_reports_by_time ON test_reports (reported_at);

  -- Tests of a report that are stored one by one: the failed ones, those flaky within it, and the slowest.
  CREATE TABLE test_cases (
    report_id bigint NOT NULL REFERENCES test_reports (id) ON DELETE CASCADE,
    kind      text   NOT NULL,
    test      bigint NOT NULL,
    suite     text   NOT NULL,
    name      text   NOT NULL,
    ms        bigint NOT NULL,
    PRIMARY KEY (report_id, kind, test)
  ) ${byKey};

  -- Tests that failed and passed on the same revision, and the job that showed it.
  CREATE TABLE flaky_tests (
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
  CREATE INDEX flaky_tests_by_time ON flaky_tests (found_at);

  -- The jobs that failed with flaky tests, so that each counts once, however many of its tests were flaky.
  CREATE TABLE flaky_jobs (
    instance   text   NOT NULL,
    job_id     bigint NOT NULL,
    project_id bigint NOT NULL,
    project    text   NOT NULL,
    -- When the last such test of the job was found.
    found_at   bigint NOT NULL,
    lost_ms    bigint NOT NULL,
    PRIMARY KEY (instance, job_id)
  );
  CREATE INDEX flaky_jobs_by_time ON flaky_jobs (found_at);
  `
}
