// The tables behind the pages, in words that SQLite and PostgreSQL both understand: lists of runs, and figures over time.

/** One step of both databases' migrations. `listed_runs` is written with each run; `trends` follows what was frozen. */
export const viewsMigration = `
  CREATE TABLE listed_runs (
    run_id      bigint PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    instance    text   NOT NULL,
    pipeline_id bigint NOT NULL,
    project_id  bigint NOT NULL,
    project     text   NOT NULL,
    status      text   NOT NULL,
    ref         text   NOT NULL,
    source      text   NOT NULL,
    created_at  bigint NOT NULL,
    finished_at bigint,
    parent_id   bigint,
    text        text   NOT NULL
  );
  CREATE INDEX listed_by_time ON listed_runs (created_at, run_id);
  CREATE INDEX listed_by_project ON listed_runs (project, created_at, run_id);
  CREATE INDEX listed_by_status ON listed_runs (status, created_at, run_id);
  CREATE INDEX listed_by_ref ON listed_runs (ref, created_at, run_id);
  CREATE INDEX listed_by_source ON listed_runs (source, created_at, run_id);
  CREATE INDEX listed_by_finish ON listed_runs (finished_at) WHERE finished_at IS NOT NULL;
  CREATE INDEX listed_by_parent ON listed_runs (parent_id, instance) WHERE parent_id IS NOT NULL;
  CREATE INDEX listed_by_pipeline ON listed_runs (pipeline_id, project_id);

  -- Figures of one hour or one day: of a job by its name, of a project's pipelines (job ''), of all pipelines (project 0).
  CREATE TABLE trends (
    step       bigint NOT NULL,
    instance   text   NOT NULL,
    project_id bigint NOT NULL,
    job        text   NOT NULL,
    bucket     bigint NOT NULL,
    project    text   NOT NULL,
    runs       bigint NOT NULL,
    failed     bigint NOT NULL,
    flaky      bigint NOT NULL,
    total_ms   bigint NOT NULL,
    durations  text   NOT NULL,
    queues     text   NOT NULL,
    PRIMARY KEY (step, project_id, job, bucket, instance)
  );
  CREATE INDEX trends_of_pipelines ON trends (step, job, bucket);
  CREATE INDEX trends_by_time ON trends (step, bucket, project_id, job, runs, failed, flaky, total_ms);

  -- Up to which part the figures have come.
  CREATE TABLE trends_reached (
    id      bigint PRIMARY KEY,
    part_id bigint NOT NULL
  );
`
