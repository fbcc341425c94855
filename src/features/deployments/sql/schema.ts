// The tables of what is reported many times and counted once (`counted.ts`), of both databases.
import type { Dialect } from '../../../core/store/ports/store-part.ts'

export function schema({ id }: Dialect): string {
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
    UNIQUE (instance, job_id)
  );
  CREATE UNIQUE INDEX deployments_by_id ON deployments (instance, deployment_id) WHERE deployment_id IS NOT NULL;
  CREATE INDEX deployments_due ON deployments (apart, due_at) WHERE due_at IS NOT NULL;
  -- A deployment is compared with others of its environment by this index alone, without their rows. One index in place of three: a new row
  -- touches a page of each index that is not in the order of time.
  CREATE INDEX deployments_of_environment
    ON deployments (instance, project_id, environment, finished_at, id, outcome, counted_at, revision);
  -- The deployments of a project are found by time, without the rows of others.
  CREATE INDEX deployments_by_time ON deployments (happened_at, project);

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
