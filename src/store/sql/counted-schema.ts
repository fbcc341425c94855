// The tables of what is reported many times and counted once (`counted.ts`), of both databases.
import type { Dialect } from './dialect.ts'

export function countedSchema({ id }: Dialect): string {
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

  -- Incidents. \`content\`: the merged reports; the columns are for finding them. \`due_at\`: when something of it is to be counted.
  CREATE TABLE incidents (
    id                 ${id},
    instance           text     NOT NULL,
    project_id         bigint   NOT NULL,
    project            text,
    iid                bigint   NOT NULL,
    state              text     NOT NULL,
    opened_at          bigint,
    changed_at         bigint   NOT NULL,
    content            text     NOT NULL,
    -- When it was first reported.
    known_at           bigint   NOT NULL,
    due_at             bigint,
    -- When its opening and its end were counted, or found to be too old for that.
    opening_counted_at bigint,
    closing_counted_at bigint,
    UNIQUE (instance, project_id, iid)
  );
  CREATE INDEX incidents_due ON incidents (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX incidents_by_opening ON incidents (opened_at);
  CREATE INDEX incidents_of_project ON incidents (project, opened_at);
  CREATE INDEX incidents_open ON incidents (opened_at) WHERE state = 'opened';
  CREATE INDEX incidents_by_change ON incidents (changed_at);

  -- Changes (merge requests). \`content\`: the merged reports. \`due_at\`: when its new times are counted. \`counted\`: the times that were.
  CREATE TABLE changes (
    id          ${id},
    instance    text   NOT NULL,
    project_id  bigint NOT NULL,
    iid         bigint NOT NULL,
    project     text,
    -- Null while only its pipelines are known.
    state       text,
    happened_at bigint NOT NULL,
    known_at    bigint NOT NULL,
    content     text   NOT NULL,
    due_at      bigint,
    counted     text,
    UNIQUE (instance, project_id, iid)
  );
  CREATE INDEX changes_due ON changes (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX changes_by_time ON changes (happened_at);
  CREATE INDEX changes_by_state ON changes (instance, project_id, state, known_at);
  `
}
