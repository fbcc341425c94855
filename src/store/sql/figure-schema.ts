// The tables of figures over time, of both databases: durations and failures by hour and day, and what jobs cost by day.
import type { Dialect } from './dialect.ts'

export function figureSchema({ ownId, byKey }: Dialect): string {
  return `
  -- Figures of one hour or one day: of a job by its name, of a project's pipelines (job ''), of all pipelines (project 0); those of
  -- each class of branch apart, and of pipelines also by what started them and by their name (both '' of jobs, which are many).
  CREATE TABLE trends (
    step       bigint NOT NULL,
    instance   text   NOT NULL,
    project_id bigint NOT NULL,
    job        text   NOT NULL,
    bucket     bigint NOT NULL,
    branch     text   NOT NULL,
    source     text   NOT NULL,
    pipeline_name text NOT NULL,
    project    text   NOT NULL,
    runs       bigint NOT NULL,
    failed     bigint NOT NULL,
    flaky      bigint NOT NULL,
    total_ms   bigint NOT NULL,
    durations  text   NOT NULL,
    queues     text   NOT NULL,
    PRIMARY KEY (step, project_id, job, bucket, instance, branch, source, pipeline_name)
  );
  CREATE INDEX trends_of_pipelines ON trends (step, job, bucket);
  CREATE INDEX trends_by_time ON trends (step, bucket, project_id, job, branch, runs, failed, flaky, total_ms);

  -- Figures of one day of the sections of jobs whose logs are read: of each job those that take most of its time, by class of branch.
  CREATE TABLE section_figures (
    project_id bigint NOT NULL,
    job        text   NOT NULL,
    bucket     bigint NOT NULL,
    instance   text   NOT NULL,
    branch     text   NOT NULL,
    section    text   NOT NULL,
    runs       bigint NOT NULL,
    failed     bigint NOT NULL,
    durations  text   NOT NULL,
    PRIMARY KEY (project_id, job, bucket, instance, branch, section)
  ) ${byKey};
  CREATE INDEX section_figures_by_day ON section_figures (bucket, project_id, job);

  -- What jobs took of their runners and what that cost, by day: of a project's jobs (job '') by class of branch and type of
  -- runner, and of each of them in all: jobs are many.
  CREATE TABLE costs (
    bucket     bigint NOT NULL,
    project_id bigint NOT NULL,
    job        text   NOT NULL,
    instance   text   NOT NULL,
    branch     text   NOT NULL,
    worker     text   NOT NULL,
    project    text   NOT NULL,
    runs       bigint NOT NULL,
    total_ms   bigint NOT NULL,
    cost       double precision NOT NULL,
    -- The part that was wasted: retried, superseded, failed or flaky.
    retried_ms      bigint           NOT NULL,
    retried_cost    double precision NOT NULL,
    superseded_ms   bigint           NOT NULL,
    superseded_cost double precision NOT NULL,
    failed_ms       bigint           NOT NULL,
    failed_cost     double precision NOT NULL,
    flaky_ms        bigint           NOT NULL,
    flaky_cost      double precision NOT NULL,
    PRIMARY KEY (bucket, project_id, job, instance, branch, worker)
  ) ${byKey};
  CREATE INDEX costs_of_projects ON costs (bucket, project_id) WHERE job = '';

  -- Up to which chunk the figures have come.
  CREATE TABLE trends_reached (
    id       ${ownId},
    chunk_id bigint NOT NULL
  );
  `
}
