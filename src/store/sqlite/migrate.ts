// SQLite's schema, as numbered steps; a released one is never edited. `user_version` is the number of the last step.
// Migrates a file to it, and refuses files that this version cannot read.
import { StoreError } from '../../lib/fault.ts'
import { flakyJobs } from '../sql/test-schema.ts'
import { leaveOldSchema, namesOfTotals, schemaOf } from '../sql/schema.ts'
import { ownersSchema } from '../sql/owners.ts'
import type { DatabaseSync } from 'node:sqlite'

const tables = schemaOf({
  id: 'INTEGER PRIMARY KEY',
  idForGood: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  ownId: 'INTEGER PRIMARY KEY',
  bytes: 'BLOB',
  byKey: 'WITHOUT ROWID',
})

/** Marks a file of ours, as SQLite intends it ("PSPA"). Files from before the first release lack it. */
const applicationId = 0x50535041

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
  flakyJobs,
  ownersSchema({
    id: 'INTEGER PRIMARY KEY',
    groupOf: `CASE WHEN json_valid(c.content) THEN json_extract(c.content, '$.group') END`,
  }),
]

/** All missing steps in one transaction. Throws StoreError for a file that is more than one version newer. `steps`: other ones, for tests. */
export function migrate(connection: DatabaseSync, steps = sqliteMigrations): void {
  refuseUnknownSchema(connection, steps.length)
  if (versionOf(connection) >= steps.length) return
  connection.exec('BEGIN IMMEDIATE')
  try {
    for (let step = versionOf(connection); step < steps.length; step += 1) {
      connection.exec(steps[step] ?? '')
      connection.exec(`PRAGMA user_version = ${step + 1}`)
    }
    connection.exec('COMMIT')
  } catch (error) {
    connection.exec('ROLLBACK')
    throw error
  }
}

export function refuseUnknownSchema(connection: DatabaseSync, newest = sqliteMigrations.length): void {
  const version = versionOf(connection)
  if (version > 0 && pragma(connection, 'application_id') !== applicationId) {
    throw new StoreError(
      'The store has a pre-release schema that this version cannot read.',
      leaveOldSchema('a new file in another folder, because the old deliveries stay beside the old file'),
    )
  }
  if (version <= newest + 1) return
  throw new StoreError(
    `The store has schema ${version}; this version supports schemas up to ${newest + 1}.`,
    'Run the Pipespan version that wrote it, or a newer one.',
  )
}

export function versionOf(connection: DatabaseSync): number {
  return pragma(connection, 'user_version')
}

function pragma(connection: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(connection.prepare(`PRAGMA ${name}`).get()?.[name])
}
