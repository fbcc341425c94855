// Migrates an SQLite file to this version's schema, and refuses files that this version cannot read.
import { StoreError } from '../../lib/fault.ts'
import { leaveOldSchema } from '../sql/schema.ts'
import { applicationId, sqliteMigrations } from './migrations.ts'
import type { DatabaseSync } from 'node:sqlite'

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
