// PostgreSQL's schema, as numbered steps that are never edited once released. Times are milliseconds of Unix time.
import { toldMigration } from '../sql/told-migration.ts'
import { viewsMigration } from '../sql/views-migration.ts'

export const postgresMigrations: readonly string[] = [
  // 1: the same tables as SQLite's first step. JSON is kept as text: it is never queried, and text keeps it as it came.
  `
  CREATE TABLE inbox (
    id           bigserial PRIMARY KEY,
    key          text,
    event        text    NOT NULL,
    instance     text,
    source       text    NOT NULL,
    received_at  bigint  NOT NULL,
    body         bytea   NOT NULL,
    lease        text,
    leased_until bigint  NOT NULL DEFAULT 0
  );
  -- It stays for a moment: compressing it costs more than writing it.
  ALTER TABLE inbox ALTER COLUMN body SET STORAGE EXTERNAL;
  CREATE INDEX inbox_waiting ON inbox (id, leased_until);

  CREATE TABLE delivery_keys (
    key      text PRIMARY KEY,
    heard_at bigint NOT NULL
  );
  CREATE INDEX delivery_keys_by_age ON delivery_keys (heard_at);

  CREATE TABLE kept_deliveries (
    id          bigserial PRIMARY KEY,
    key         text,
    event       text   NOT NULL,
    instance    text,
    source      text   NOT NULL,
    received_at bigint NOT NULL,
    body        bytea  NOT NULL,
    reason      text   NOT NULL,
    version     text   NOT NULL
  );

  CREATE TABLE runs (
    id              bigserial PRIMARY KEY,
    instance        text   NOT NULL,
    pipeline_id     bigint NOT NULL,
    project_id      bigint NOT NULL,
    status          text,
    project         text   NOT NULL,
    pipeline        text,
    attempts        text   NOT NULL,
    heard_from      text   NOT NULL,
    changed_at      bigint NOT NULL,
    ended_at        bigint,
    enriching_until bigint,
    due_at          bigint,
    UNIQUE (instance, pipeline_id)
  );
  CREATE INDEX runs_due ON runs (due_at) WHERE due_at IS NOT NULL;

  CREATE TABLE jobs (
    run_id bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    job_id bigint NOT NULL,
    record text   NOT NULL,
    times  text   NOT NULL,
    frozen text,
    PRIMARY KEY (run_id, job_id)
  );

  CREATE TABLE parts (
    id        bigserial PRIMARY KEY,
    run_id    bigint  NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    attempt   integer NOT NULL,
    part      integer NOT NULL,
    view      text    NOT NULL,
    frozen_at bigint  NOT NULL,
    UNIQUE (run_id, attempt, part)
  );

  CREATE TABLE exports (
    id            bigserial PRIMARY KEY,
    part_id       bigint  NOT NULL REFERENCES parts (id) ON DELETE CASCADE,
    signal        text    NOT NULL,
    destination   text    NOT NULL,
    state         text    NOT NULL CHECK (state IN ('owed', 'delivered', 'dead', 'dropped')),
    owed_at       bigint  NOT NULL,
    due_at        bigint  NOT NULL,
    lease         text,
    tries         integer NOT NULL DEFAULT 0,
    answer_status integer,
    error         text,
    settled_at    bigint,
    UNIQUE (part_id, signal, destination)
  );
  CREATE INDEX exports_owed ON exports (destination, signal, due_at, id) WHERE state = 'owed';
  CREATE INDEX exports_dead ON exports (id) WHERE state = 'dead';

  CREATE TABLE counters (
    name  text PRIMARY KEY,
    value bigint NOT NULL
  );

  CREATE TABLE notes (
    name  text PRIMARY KEY,
    value text NOT NULL
  );

  CREATE TABLE leases (
    name   text PRIMARY KEY,
    holder text   NOT NULL,
    until  bigint NOT NULL
  );
  `,
  // 2: tombstones, and the way to what may be pruned.
  `
  CREATE TABLE tombstones (
    instance    text   NOT NULL,
    pipeline_id bigint NOT NULL,
    project_id  bigint NOT NULL,
    pruned_at   bigint NOT NULL,
    memory      text   NOT NULL,
    PRIMARY KEY (instance, pipeline_id)
  );
  CREATE INDEX tombstones_by_age ON tombstones (pruned_at);
  CREATE INDEX runs_at_rest ON runs (changed_at, id) WHERE due_at IS NULL;
  CREATE INDEX exports_dead_by_age ON exports (settled_at) WHERE state = 'dead';
  `,
  // 3: running totals of metrics, by project, and the runs under way.
  `
  CREATE TABLE totals_projects (
    id         bigserial PRIMARY KEY,
    instance   text   NOT NULL,
    project_id bigint NOT NULL,
    profile    text   NOT NULL,
    facts      text   NOT NULL,
    UNIQUE (instance, project_id)
  );

  CREATE TABLE totals (
    project    bigint NOT NULL REFERENCES totals_projects (id) ON DELETE CASCADE,
    series     text   NOT NULL,
    metric     text   NOT NULL,
    attributes text   NOT NULL,
    shape      text   NOT NULL,
    amount     text   NOT NULL,
    started_at bigint NOT NULL,
    PRIMARY KEY (project, series)
  );

  ALTER TABLE runs ADD COLUMN name text;
  CREATE INDEX runs_active ON runs (instance, project_id, name, status)
    WHERE due_at IS NOT NULL AND status NOT IN ('success', 'failed', 'canceled', 'skipped');
  `,
  // 4: what the platform's API is still to be asked about, and which job started which pipeline.
  `
  CREATE TABLE asking (
    run_id bigint  PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    lane   text    NOT NULL,
    wants  integer NOT NULL,
    due_at bigint  NOT NULL,
    held   integer NOT NULL
  );
  CREATE INDEX asking_due ON asking (lane, due_at);

  CREATE TABLE triggers (
    instance    text   NOT NULL,
    pipeline_id bigint NOT NULL,
    run_id      bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    job_id      bigint NOT NULL,
    PRIMARY KEY (instance, pipeline_id)
  );
  CREATE INDEX triggers_by_run ON triggers (run_id);
  CREATE INDEX runs_never_frozen ON runs (instance, pipeline_id) WHERE attempts = '[]';
  `,
  // What the pages show: lists of runs, and figures over time.
  viewsMigration,
  // 6: parts that tell of jobs without a row or a mark of their own.
  toldMigration,
  // 7: what is asked about runs that have gone silent goes in a lane of its own, and is looked at anew.
  `
  UPDATE asking SET lane = 'silent', due_at = 0
  WHERE lane = 'fresh' AND wants = 2 AND held = 0
    AND due_at > (SELECT changed_at FROM runs WHERE runs.id = asking.run_id) + 86400000;
  `,
  // 8: how often who had leased a delivery has not come back (inbox.ts).
  'ALTER TABLE inbox ADD COLUMN tries smallint NOT NULL DEFAULT 0',
]
