// The tables of trends, by hour and day, and of costs, by day, of both databases.
import type { Dialect } from '../../core/store/ports/store-part.ts'

export function schema({ id, byKey }: Dialect): string {
  return `
  -- The figures of one hour or day: of a job, of a project's pipelines (job ''), or of all pipelines (project 0); by class of branch, and
  -- those of pipelines also by source and name (both '' for jobs, as there are many).
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

  -- Daily figures of the sections of jobs whose logs are read, by class of branch: of each job those that take most of its time.
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

  -- Runner time and costs by day: of a project's jobs (job '') by class of branch and type of runner, and of each job without these, as
  -- there are many.
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
    -- The part that was wasted: retried, superseded or failed. The last two columns are not used.
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

  -- What snapshots add to these figures, until it is folded into them (counting/fold.ts).
  CREATE TABLE figures_added (
    id         ${id},
    project_id bigint NOT NULL,
    content    text   NOT NULL
  );
  CREATE INDEX figures_added_of_projects ON figures_added (project_id, id);
  `
}
