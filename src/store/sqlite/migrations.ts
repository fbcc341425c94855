// SQLite's schema, as numbered steps; a released one is never edited. `user_version` is the number of the last step.
import { namesOfTotals, schemaOf } from '../sql/schema.ts'

const tables = schemaOf({
  id: 'INTEGER PRIMARY KEY',
  idForGood: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  ownId: 'INTEGER PRIMARY KEY',
  bytes: 'BLOB',
  byKey: 'WITHOUT ROWID',
})

/** Marks a file of ours, as SQLite intends it ("PSPA"). Files from before the first release lack it. */
export const applicationId = 0x50535041

export const sqliteMigrations: readonly string[] = [
  // 1: the tables that both databases have, and those that only a file needs.
  `${tables}
  PRAGMA application_id = ${applicationId};

  -- Idempotency keys of deliveries, remembered for a week, by the end of their day (see delivery-keys.ts).
  CREATE TABLE delivery_keys (
    seen_at INTEGER NOT NULL,
    key     TEXT    NOT NULL,
    PRIMARY KEY (seen_at, key)
  ) WITHOUT ROWID;

  CREATE TABLE heartbeat (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER NOT NULL
  );

  -- How far the accepted deliveries are processed. \`beyond\`: JSON, see deliveries/progress.ts.
  CREATE TABLE delivery_checkpoint (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    seq    INTEGER NOT NULL,
    bytes  INTEGER NOT NULL,
    beyond TEXT    NOT NULL
  );
  INSERT INTO delivery_checkpoint VALUES (1, 0, 0, '[]');

  -- Accepted deliveries that could not be read (see deliveries/left-behind.ts).
  CREATE TABLE unread_deliveries (
    first INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL
  );
  `,
  namesOfTotals,
]
