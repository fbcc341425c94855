// SQLite's schema, as numbered steps that are never edited once released. `user_version` says how far a file has come.
import { toldMigration } from '../sql/told-migration.ts'
import { viewsMigration } from '../sql/views-migration.ts'

export const sqliteMigrations: readonly string[] = [
  // 1: the inbox, the runs, what was frozen of them and what is owed for it.
  `
  CREATE TABLE inbox (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    key          TEXT,
    event        TEXT    NOT NULL,
    instance     TEXT,
    source       TEXT    NOT NULL,
    received_at  INTEGER NOT NULL,
    body         BLOB    NOT NULL,
    -- Leases are written on PostgreSQL only, where the columns are the same.
    lease        TEXT,
    leased_until INTEGER NOT NULL DEFAULT 0
  );

  -- Keys of deliveries, remembered for a week so that a resend is answered as a duplicate.
  CREATE TABLE delivery_keys (
    key      TEXT PRIMARY KEY,
    heard_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX delivery_keys_by_age ON delivery_keys (heard_at);

  -- Deliveries that could not be decoded.
  CREATE TABLE kept_deliveries (
    id          INTEGER PRIMARY KEY,
    key         TEXT,
    event       TEXT    NOT NULL,
    instance    TEXT,
    source      TEXT    NOT NULL,
    received_at INTEGER NOT NULL,
    body        BLOB    NOT NULL,
    reason      TEXT    NOT NULL,
    version     TEXT    NOT NULL
  );

  CREATE TABLE runs (
    id              INTEGER PRIMARY KEY,
    instance        TEXT    NOT NULL,
    pipeline_id     INTEGER NOT NULL,
    project_id      INTEGER NOT NULL,
    status          TEXT,
    project         TEXT    NOT NULL,
    pipeline        TEXT,
    attempts        TEXT    NOT NULL,
    heard_from      TEXT    NOT NULL,
    changed_at      INTEGER NOT NULL,
    ended_at        INTEGER,
    enriching_until INTEGER,
    due_at          INTEGER,
    UNIQUE (instance, pipeline_id)
  );
  CREATE INDEX runs_due ON runs (due_at) WHERE due_at IS NOT NULL;

  CREATE TABLE jobs (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    job_id INTEGER NOT NULL,
    record TEXT    NOT NULL,
    times  TEXT    NOT NULL,
    frozen TEXT,
    PRIMARY KEY (run_id, job_id)
  ) WITHOUT ROWID;

  -- What was frozen: sent as it is, whatever the run becomes.
  CREATE TABLE parts (
    id        INTEGER PRIMARY KEY,
    run_id    INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    attempt   INTEGER NOT NULL,
    part      INTEGER NOT NULL,
    view      TEXT    NOT NULL,
    frozen_at INTEGER NOT NULL,
    UNIQUE (run_id, attempt, part)
  );

  CREATE TABLE exports (
    id            INTEGER PRIMARY KEY,
    part_id       INTEGER NOT NULL REFERENCES parts (id) ON DELETE CASCADE,
    signal        TEXT    NOT NULL,
    destination   TEXT    NOT NULL,
    state         TEXT    NOT NULL CHECK (state IN ('owed', 'delivered', 'dead', 'dropped')),
    owed_at       INTEGER NOT NULL,
    due_at        INTEGER NOT NULL,
    lease         TEXT,
    tries         INTEGER NOT NULL DEFAULT 0,
    answer_status INTEGER,
    error         TEXT,
    settled_at    INTEGER,
    UNIQUE (part_id, signal, destination)
  );
  CREATE INDEX exports_owed ON exports (destination, signal, due_at, id) WHERE state = 'owed';
  CREATE INDEX exports_dead ON exports (id) WHERE state = 'dead';

  CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE notes (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE leases (
    name   TEXT PRIMARY KEY,
    holder TEXT    NOT NULL,
    until  INTEGER NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE heartbeat (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER NOT NULL
  );
  `,
  // 2: tombstones, and the way to what may be pruned.
  `
  CREATE TABLE tombstones (
    instance    TEXT    NOT NULL,
    pipeline_id INTEGER NOT NULL,
    project_id  INTEGER NOT NULL,
    pruned_at   INTEGER NOT NULL,
    memory      TEXT    NOT NULL,
    PRIMARY KEY (instance, pipeline_id)
  ) WITHOUT ROWID;
  CREATE INDEX tombstones_by_age ON tombstones (pruned_at);
  CREATE INDEX runs_at_rest ON runs (changed_at, id) WHERE due_at IS NULL;
  CREATE INDEX exports_dead_by_age ON exports (settled_at) WHERE state = 'dead';
  `,
  // 3: running totals of metrics, by project, and the runs under way.
  `
  CREATE TABLE totals_projects (
    id         INTEGER PRIMARY KEY,
    instance   TEXT    NOT NULL,
    project_id INTEGER NOT NULL,
    profile    TEXT    NOT NULL,
    facts      TEXT    NOT NULL,
    UNIQUE (instance, project_id)
  );

  CREATE TABLE totals (
    project    INTEGER NOT NULL REFERENCES totals_projects (id) ON DELETE CASCADE,
    series     TEXT    NOT NULL,
    metric     TEXT    NOT NULL,
    attributes TEXT    NOT NULL,
    shape      TEXT    NOT NULL,
    amount     TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    PRIMARY KEY (project, series)
  ) WITHOUT ROWID;

  ALTER TABLE runs ADD COLUMN name TEXT;
  CREATE INDEX runs_active ON runs (instance, project_id, name, status)
    WHERE due_at IS NOT NULL AND status NOT IN ('success', 'failed', 'canceled', 'skipped');
  `,
  // 4: what the platform's API is still to be asked about, and which job started which pipeline.
  `
  CREATE TABLE asking (
    run_id INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    lane   TEXT    NOT NULL,
    wants  INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    held   INTEGER NOT NULL
  );
  CREATE INDEX asking_due ON asking (lane, due_at);

  CREATE TABLE triggers (
    instance    TEXT    NOT NULL,
    pipeline_id INTEGER NOT NULL,
    run_id      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    job_id      INTEGER NOT NULL,
    PRIMARY KEY (instance, pipeline_id)
  ) WITHOUT ROWID;
  CREATE INDEX triggers_by_run ON triggers (run_id);
  CREATE INDEX runs_never_frozen ON runs (instance, pipeline_id) WHERE attempts = '[]';
  `,
  // What the pages show: lists of runs, and figures over time.
  viewsMigration,
  // 6: how far the journal of deliveries, in files beside, is understood. `beyond`: JSON, see journal-inbox.ts.
  `
  CREATE TABLE journal_progress (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    seq    INTEGER NOT NULL,
    bytes  INTEGER NOT NULL,
    beyond TEXT    NOT NULL
  );
  INSERT INTO journal_progress VALUES (1, 0, 0, '[]');
  `,
  // 7: parts that tell of jobs without a row or a mark of their own.
  toldMigration,
  // 8: what is written for many at once: runs that the lists are still to be told of (`mark`: see listings.ts), and keys of
  // deliveries by their number in the journal.
  `
  CREATE TABLE fresh_keys (
    seq      INTEGER PRIMARY KEY,
    key      TEXT    NOT NULL,
    heard_at INTEGER NOT NULL
  );

  CREATE TABLE unlisted_runs (
    run_id INTEGER PRIMARY KEY,
    mark   INTEGER NOT NULL
  );
  `,
  // 9: what is asked about runs that have gone silent goes in a lane of its own, and is looked at anew.
  `
  UPDATE asking SET lane = 'silent', due_at = 0
  WHERE lane = 'fresh' AND wants = 2 AND held = 0
    AND due_at > (SELECT changed_at FROM runs WHERE runs.id = asking.run_id) + 86400000;
  `,
  // 10: as on PostgreSQL, which counts there how often who had leased a delivery has not come back (see reading-note.ts).
  'ALTER TABLE inbox ADD COLUMN tries INTEGER NOT NULL DEFAULT 0',
]
