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
  -- Deployments. \`content\` has the merged reports; other columns repeat the values by which deployments are found and compared. \`due_at\` is when
  -- the deployment is due to be counted; it is null while the deployment is in progress, and once it has been counted. \`figures\` has the counted
  -- values.
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
    -- When the end of the deployment was first reported.
    known_at      bigint,
    due_at        bigint,
    -- 1 if the commits of the deployment must be requested first, so that it is counted separately.
    apart         integer  NOT NULL DEFAULT 0,
    leased        integer  NOT NULL DEFAULT 0,
    tries         smallint NOT NULL DEFAULT 0,
    counted_at    bigint,
    figures       text,
    UNIQUE (instance, job_id)
  );
  CREATE UNIQUE INDEX deployments_by_id ON deployments (instance, deployment_id) WHERE deployment_id IS NOT NULL;
  CREATE INDEX deployments_due ON deployments (apart, due_at) WHERE due_at IS NOT NULL;
  -- This index has every column that is needed to compare a deployment with others in its environment, so their rows are not read. It replaces three
  -- indexes, because a new row changes one page in each index that is not ordered by time.
  CREATE INDEX deployments_of_environment
    ON deployments (instance, project_id, environment, finished_at, id, outcome, counted_at, revision);
  -- Finds the deployments of a period in one project without reading the rows of other projects.
  CREATE INDEX deployments_by_time ON deployments (happened_at, project);

  -- Incidents. \`content\` has the merged reports; other columns repeat the values by which incidents are found. \`due_at\` is when the opening or
  -- the end of the incident is due to be counted.
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
    -- When the incident was first reported.
    known_at           bigint   NOT NULL,
    due_at             bigint,
    -- When the opening and the end were counted, or were found to be too old to be counted.
    opening_counted_at bigint,
    closing_counted_at bigint,
    UNIQUE (instance, project_id, iid)
  );
  CREATE INDEX incidents_due ON incidents (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX incidents_by_opening ON incidents (opened_at);
  CREATE INDEX incidents_of_project ON incidents (project, opened_at);
  CREATE INDEX incidents_open ON incidents (opened_at) WHERE state = 'opened';
  CREATE INDEX incidents_by_change ON incidents (changed_at);

  -- Changes (merge requests). \`content\` has the merged reports. \`due_at\` is when the times that are not yet counted are due; \`counted\` has the
  -- times that were counted.
  CREATE TABLE changes (
    id          ${id},
    instance    text   NOT NULL,
    project_id  bigint NOT NULL,
    iid         bigint NOT NULL,
    project     text,
    -- Null while only the pipelines of the change are known.
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
