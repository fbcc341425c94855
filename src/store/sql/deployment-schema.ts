// The table of deployments, of both databases (`schema.ts`).
import type { Dialect } from './dialect.ts'

export function deploymentSchema({ id }: Dialect): string {
  return `
  -- Deployments. \`content\`: the merged reports; the columns are for finding and comparing. \`due_at\`: when it is counted; null while it is active,
  -- and after it was counted. \`figures\`: what was counted.
  CREATE TABLE deployments (
    id            ${id},
    instance      text     NOT NULL,
    project_id    bigint   NOT NULL,
    project       text,
    job_id        bigint,
    deployment_id bigint,
    environment   text,
    outcome       text,
    revision      text,
    happened_at   bigint   NOT NULL,
    finished_at   bigint,
    content       text     NOT NULL,
    -- When its end was first reported.
    known_at      bigint,
    due_at        bigint,
    -- 1 if it waits for its commits, and is counted by itself.
    apart         integer  NOT NULL DEFAULT 0,
    leased        integer  NOT NULL DEFAULT 0,
    tries         smallint NOT NULL DEFAULT 0,
    counted_at    bigint,
    figures       text,
    UNIQUE (instance, job_id),
    UNIQUE (instance, deployment_id)
  );
  CREATE INDEX deployments_due ON deployments (apart, due_at) WHERE due_at IS NOT NULL;
  -- The deployments to compare with are found without reading the others of their environment, of which there may be very many.
  CREATE INDEX deployments_by_environment ON deployments (instance, project_id, environment, outcome, finished_at);
  CREATE INDEX deployments_by_revision ON deployments (instance, project_id, environment, outcome, revision, finished_at);
  -- The index has the time of counting: rows of those that ended later and were counted since are not read.
  CREATE INDEX deployments_counted ON deployments (instance, project_id, environment, finished_at, counted_at)
    WHERE counted_at IS NOT NULL AND outcome IS NOT NULL;
  CREATE INDEX deployments_by_time ON deployments (happened_at);
  CREATE INDEX deployments_of_project ON deployments (project, happened_at);
  `
}
