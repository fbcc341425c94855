// The tables of deployments, changes and incidents, which are reported many times and counted once (`sql/counted.ts`), and how long their rows are kept.
import { changes } from './sql/changes.ts'
import { deployments } from './sql/deployments.ts'
import { incidents } from './sql/incidents.ts'
import { maxSilentWait, maxWait } from '../../core/store/sql/too-far-ahead.ts'
import type { Dialect, StorePart } from '../../core/store/ports/store-part.ts'
import type { Kept } from '../../core/store/maintenance/steps.ts'

const minute = 60_000
const day = 24 * 60 * minute
/**
 * How long deployments are kept if the store is nearly full or full. Jobs do not report deleted deployments again, because the tombstones of their
 * runs prevent that.
 */
const counted = { nearlyFull: day, full: 10 * minute }

export const deploymentTables: StorePart = {
  name: 'deployments',
  schema: [schema],
  queues: ['deployments'],
  waits: [
    { table: 'deployments', max: maxSilentWait },
    { table: 'changes', max: maxWait },
    { table: 'incidents', max: maxWait },
  ],
  kept: (on, { keepFigures: keep }, steps): readonly Kept[] => {
    const stored = on(deployments)
    const others = { changes: on(changes), incidents: on(incidents) }
    return [
      {
        ...{ kind: 'deployments', keep, spared: counted },
        sweep: early =>
          early === undefined
            ? async (before, isEnough) => steps.repeat(async rows => stored.prune(before, rows), isEnough)
            : steps.onward<number>(async (before, rows, from) =>
                stored.pruneEarly(before, rows, from, {
                  lastSince: early - keep,
                  withoutJobSince: early - counted.nearlyFull,
                }),
              ),
      },
      ...Object.entries(others).map(([kind, one]): Kept => ({
        ...{ kind, keep },
        sweep: () => async (before, isEnough) => steps.repeat(async rows => one.prune(before, rows), isEnough),
      })),
    ]
  },
}

function schema({ id }: Dialect): string {
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
