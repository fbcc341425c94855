// The table of deployments, of both databases (`schema.ts`).
import type { Dialect } from './dialect.ts'

export function deploymentSchema({ id }: Dialect): string {
  return `
  -- Deployments: \`content\` is all that is known of one, the columns what it is found and compared by. \`due_at\`: when it is counted; null while
  -- it is under way, and once it was. \`figures\`: what was counted.
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
    -- Since when it is known that it has ended.
    known_at      bigint,
    due_at        bigint,
    leased        integer  NOT NULL DEFAULT 0,
    tries         smallint NOT NULL DEFAULT 0,
    counted_at    bigint,
    figures       text,
    UNIQUE (instance, job_id),
    UNIQUE (instance, deployment_id)
  );
  CREATE INDEX deployments_due ON deployments (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX deployments_by_environment ON deployments (instance, project_id, environment, finished_at);
  CREATE INDEX deployments_by_time ON deployments (happened_at);
  CREATE INDEX deployments_of_project ON deployments (project, happened_at);
  `
}
