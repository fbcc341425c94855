// The table of deployments, of both databases (`schema.ts`).
import type { Dialect } from './dialect.ts'

export function deploymentSchema({ id }: Dialect): string {
  return `
  -- Deployments. \`content\`: the merged reports; the columns are for finding and comparing. \`due_at\`: when it is counted; null as long as it is under
  -- way, and after it was counted. \`figures\`: what was counted.
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

/** The second step of both schemas. */
export const countedTogether = `
  -- 1 if it waits for its commits, and is counted by itself.
  ALTER TABLE deployments ADD COLUMN apart integer NOT NULL DEFAULT 0;
  DROP INDEX deployments_due;
  CREATE INDEX deployments_due ON deployments (apart, due_at) WHERE due_at IS NOT NULL;
`

/**
 * The third step. A store that an earlier version made may have some of the indexes. A daemon that knows one step alone refuses a store with three: it cannot read chunks whose jobs are rows (`chunk-text.ts`), and would
 * set their exports aside.
 */
export const comparedByIndex = `
  -- What is compared with a deployment is found without reading the others of its environment, which may be very many.
  DROP INDEX deployments_by_environment;
  CREATE INDEX deployments_by_environment ON deployments (instance, project_id, environment, outcome, finished_at);
  CREATE INDEX IF NOT EXISTS deployments_by_revision ON deployments (instance, project_id, environment, outcome, revision, finished_at);
  -- When each was counted is in the index: rows of those that ended later and were counted since are not read.
  DROP INDEX IF EXISTS deployments_counted;
  CREATE INDEX deployments_counted ON deployments (instance, project_id, environment, finished_at, counted_at)
    WHERE counted_at IS NOT NULL AND outcome IS NOT NULL;
`

/**
 * The fourth step. Each deployment would change a page of each of its indexes, most of them another page each time, and SQLite writes whole pages: so it
 * writes the large indexes for many at once (`sqlite/deployment-lists.ts`). PostgreSQL writes what changes of a page: there each is listed at once.
 */
export const listedLater = `
  -- 1 once the large indexes have it.
  ALTER TABLE deployments ADD COLUMN listed smallint NOT NULL DEFAULT 1;
  -- 1 while the small index has it: until it is listed, and once more from its counting until the index of those that were counted has it.
  ALTER TABLE deployments ADD COLUMN recent smallint NOT NULL DEFAULT 0;
  DROP INDEX deployments_by_environment;
  DROP INDEX deployments_by_revision;
  DROP INDEX deployments_counted;
  DROP INDEX deployments_by_time;
  DROP INDEX deployments_of_project;
  CREATE INDEX deployments_by_environment ON deployments (instance, project_id, environment, outcome, finished_at) WHERE listed = 1;
  CREATE INDEX deployments_by_revision ON deployments (instance, project_id, environment, outcome, revision, finished_at) WHERE listed = 1;
  CREATE INDEX deployments_counted ON deployments (instance, project_id, environment, finished_at, counted_at)
    WHERE recent = 0 AND counted_at IS NOT NULL AND outcome IS NOT NULL;
  CREATE INDEX deployments_by_time ON deployments (happened_at) WHERE listed = 1;
  CREATE INDEX deployments_of_project ON deployments (project, happened_at) WHERE listed = 1;
  CREATE INDEX deployments_recent ON deployments (project_id, environment, finished_at, revision) WHERE recent = 1;
`

/** The fifth step: what is compared with a deployment is in the small index itself, so that no rows are read for it. */
export const comparedByRecent = `
  DROP INDEX deployments_recent;
  CREATE INDEX deployments_recent ON deployments
    (project_id, environment, finished_at, revision, outcome, counted_at, instance) WHERE recent = 1;
`

/** A later step of both schemas: each deployment is listed when it is written, and nothing but deployments is leased to be counted. */
export const listedAtOnce = `
  DROP INDEX deployments_by_environment;
  DROP INDEX deployments_by_revision;
  DROP INDEX deployments_counted;
  DROP INDEX deployments_by_time;
  DROP INDEX deployments_of_project;
  DROP INDEX deployments_recent;
  ALTER TABLE deployments DROP COLUMN listed;
  ALTER TABLE deployments DROP COLUMN recent;
  ALTER TABLE changes DROP COLUMN leased;
  CREATE INDEX deployments_by_environment ON deployments (instance, project_id, environment, outcome, finished_at);
  CREATE INDEX deployments_by_revision ON deployments (instance, project_id, environment, outcome, revision, finished_at);
  CREATE INDEX deployments_counted ON deployments (instance, project_id, environment, finished_at, counted_at)
    WHERE counted_at IS NOT NULL AND outcome IS NOT NULL;
  CREATE INDEX deployments_by_time ON deployments (happened_at);
  CREATE INDEX deployments_of_project ON deployments (project, happened_at);
`
