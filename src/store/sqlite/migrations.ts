// SQLite's schema, as numbered steps; a released one is never edited. `user_version` is the number of the last step.
import {
  comparedByIndex,
  comparedByRecent,
  countedTogether,
  listedAtOnce,
  listedLater,
} from '../sql/deployment-schema.ts'
import { schemaOf } from '../sql/schema.ts'

const tables = schemaOf({
  id: 'INTEGER PRIMARY KEY',
  idForGood: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  ownId: 'INTEGER PRIMARY KEY',
  bytes: 'BLOB',
  byKey: 'WITHOUT ROWID',
})

export const sqliteMigrations: readonly string[] = [
  // 1: the tables that both databases have, and what only a file needs.
  `${tables}
  CREATE TABLE heartbeat (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER NOT NULL
  );

  -- How far the accepted deliveries are processed. \`beyond\`: JSON, see deliveries/progress.ts.
  CREATE TABLE wal_checkpoint (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    seq    INTEGER NOT NULL,
    bytes  INTEGER NOT NULL,
    beyond TEXT    NOT NULL
  );
  INSERT INTO wal_checkpoint VALUES (1, 0, 0, '[]');

  -- New keys of deliveries, by their numbers (see delivery-keys.ts).
  CREATE TABLE recent_delivery_keys (
    seq     INTEGER PRIMARY KEY,
    key     TEXT    NOT NULL,
    seen_at INTEGER NOT NULL
  );

  -- Runs that are still to be listed (until step 11).
  CREATE TABLE unlisted_runs (
    run_id  INTEGER PRIMARY KEY,
    version INTEGER NOT NULL
  );
  `,
  // 2: deployments are counted together, but for those that wait for their commits.
  countedTogether,
  // 3: what a deployment is compared with is found by indexes.
  comparedByIndex,
  // 4: the large indexes of deployments may be written later, for many at once.
  listedLater,
  // 5: the small index of deployments has all that is compared.
  comparedByRecent,
  // 6: new keys of deliveries are gathered before they join the others (see delivery-keys.ts).
  `
  CREATE TABLE gathered_delivery_keys (
    key     TEXT    PRIMARY KEY,
    seen_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  `,
  // 7: accepted deliveries that could not be read (see deliveries/left-behind.ts).
  `
  CREATE TABLE unread_deliveries (
    first INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL
  );
  `,
  // 8: large indexes of deployments are written at once; changes are counted without a lease.
  listedAtOnce,
  // 9: the deliveries beside the store are in an SQLite file of their own.
  'ALTER TABLE wal_checkpoint RENAME TO delivery_checkpoint;',
  // 10: keys of deliveries are in one table, by the end of their day.
  `
  ALTER TABLE delivery_keys RENAME TO old_delivery_keys;
  CREATE TABLE delivery_keys (
    seen_at INTEGER NOT NULL,
    key     TEXT    NOT NULL,
    PRIMARY KEY (seen_at, key)
  ) WITHOUT ROWID;
  INSERT OR IGNORE INTO delivery_keys
    SELECT (seen_at / 86400000 + 1) * 86400000, key FROM (
      SELECT seen_at, key FROM old_delivery_keys
      UNION ALL SELECT seen_at, key FROM gathered_delivery_keys
      UNION ALL SELECT seen_at, key FROM recent_delivery_keys
    ) ORDER BY 1, 2;
  DROP TABLE old_delivery_keys;
  DROP TABLE gathered_delivery_keys;
  DROP TABLE recent_delivery_keys;
  `,
  // 11: each run is listed when it is written. Those that waited are listed by what is at hand; more of them is listed when they change.
  `
  INSERT INTO listed_runs (run_id, instance, pipeline_id, project_id, project, status, ref, source, created_at, finished_at, text)
  SELECT id, instance, pipeline_id, project_id, coalesce(project ->> '$.facts.path', ''), coalesce(status, ''),
         coalesce(pipeline ->> '$.record.facts.ref', ''), coalesce(pipeline ->> '$.record.facts.source', ''),
         coalesce(pipeline ->> '$.times.createdAt', pipeline ->> '$.times.finishedAt', changed_at),
         CASE WHEN status IN ('success', 'failed', 'canceled', 'skipped') THEN pipeline ->> '$.times.finishedAt' END,
         lower(pipeline_id || ' ' || coalesce(project ->> '$.facts.path', '') || ' ' || coalesce(pipeline ->> '$.record.facts.ref', ''))
  FROM runs WHERE id IN (SELECT run_id FROM unlisted_runs) AND json_valid(pipeline) AND json_valid(project)
  ON CONFLICT (run_id) DO UPDATE SET status = excluded.status, finished_at = excluded.finished_at;
  DROP TABLE unlisted_runs;
  `,
]
