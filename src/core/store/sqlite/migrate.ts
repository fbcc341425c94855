// SQLite's schema, as numbered steps. A released step is never edited. `user_version` is the number of the last step. Opening a file runs the missing
// steps; a file that this version cannot read is rejected.
import { StoreError } from '../../../lib/fault.ts'
import { schemaOf, missingSteps, selectPartNumbers, type MissingSteps } from '../sql/schema.ts'
import { leaveOldSchema, refuseNewer } from '../sql/schema-faults.ts'
import type { DatabaseSync } from 'node:sqlite'
import type { Dialect, StorePart } from '../ports/store-part.ts'

const dialect: Dialect = {
  id: 'INTEGER PRIMARY KEY',
  ownId: 'INTEGER PRIMARY KEY',
  bytes: 'BLOB',
  byKey: 'WITHOUT ROWID',
}
const tables = schemaOf(dialect)

/** The SQLite application id ("PSPB"), which marks a file as Pipespan's. Files of pre-releases have another id, or none. */
const applicationId = 0x50535042

export const sqliteMigrations: readonly string[] = [
  // Step 1 of the schema: the tables that both databases have, and the tables that only SQLite needs.
  `${tables}
  PRAGMA application_id = ${applicationId};

  -- The idempotency keys of deliveries, which are kept for a week. \`seen_at\` is the end of the day on which the key was stored.
  CREATE TABLE delivery_keys (
    seen_at INTEGER NOT NULL,
    key     TEXT    NOT NULL,
    PRIMARY KEY (seen_at, key)
  ) WITHOUT ROWID;

  CREATE TABLE heartbeat (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER NOT NULL
  );
  `,
]

/**
 * Runs all missing steps in one transaction. Throws StoreError for a file that is more than one version newer. `steps` replaces the steps in tests.
 */
export function migrate(connection: DatabaseSync, parts: readonly StorePart[], steps = sqliteMigrations): void {
  refuseUnknownSchema(connection, steps.length)
  if (versionOf(connection) >= steps.length && missingParts(connection, parts).length === 0) return
  connection.exec('BEGIN IMMEDIATE')
  try {
    for (let step = versionOf(connection); step < steps.length; step += 1) {
      connection.exec(steps[step] ?? '')
      connection.exec(`PRAGMA user_version = ${step + 1}`)
    }
    for (const part of missingParts(connection, parts)) {
      for (const step of part.steps) connection.exec(step)
      connection.prepare('INSERT OR REPLACE INTO schema_parts VALUES (?, ?)').run(part.name, part.number)
    }
    connection.exec('COMMIT')
  } catch (error) {
    connection.exec('ROLLBACK')
    throw error
  }
}

/** Whether the schemas of the store and of these features have all steps of this version. Throws in the same cases as `refuseUnknownSchema`. */
export function isUpToDateWith(connection: DatabaseSync, parts: readonly StorePart[]): boolean {
  refuseUnknownSchema(connection)
  return versionOf(connection) >= sqliteMigrations.length && missingParts(connection, parts).length === 0
}

function missingParts(connection: DatabaseSync, parts: readonly StorePart[]): MissingSteps[] {
  return missingSteps(connection.prepare(selectPartNumbers).all(), parts, dialect)
}

export function refuseUnknownSchema(connection: DatabaseSync, newest = sqliteMigrations.length): void {
  const version = versionOf(connection)
  if (version > 0 && pragma(connection, 'application_id') !== applicationId) {
    throw new StoreError(
      'The store has a pre-release schema that this version cannot read.',
      leaveOldSchema('a new file'),
    )
  }
  refuseNewer('The store', version, newest)
}

function versionOf(connection: DatabaseSync): number {
  return pragma(connection, 'user_version')
}

function pragma(connection: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(connection.prepare(`PRAGMA ${name}`).get()?.[name])
}
