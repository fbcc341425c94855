// A store that an earlier version made is brought to this version's schema with all that is in it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { delivery } from './exercise.ts'
import { event, rules, t0 } from '../flow/world.ts'
import { mergeObservations } from '../../src/processing/merge-observations.ts'
import { newDatabase } from './new-database.ts'
import { openPostgres } from '../../src/store/postgres/open-postgres.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { postgresMigrations } from '../../src/store/postgres/migrations.ts'
import { sqliteMigrations } from '../../src/store/sqlite/migrations.ts'
import type { Deployment } from '../../src/model/deployment.ts'
import type { Store } from '../../src/store/ports/store.ts'

const options = { maxSize: 2 ** 30 }
const deployment: Deployment = {
  instance: 'https://git.example.com',
  project: { id: 1 },
  deploymentId: 7,
  reports: [],
} as unknown as Deployment
const insertDue = `
  INSERT INTO deployments (instance, project_id, deployment_id, environment, happened_at, finished_at, content, due_at)
  VALUES ('https://git.example.com', 1, 7, 'production', 1, 1, '${JSON.stringify(deployment)}', 1)`

/** The platform's ids of the deployments that are counted. */
async function counted(store: Store): Promise<(number | undefined)[]> {
  const ids: (number | undefined)[] = []
  await store.deployments.countDue(10, due => {
    ids.push(due.of.deploymentId)
    return { counted: undefined, written: [], measures: [] }
  })
  return ids
}

it('an SQLite file of the first schema: its deployments are counted', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-steps-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'pipespan.db')
  const first = new DatabaseSync(file)
  first.exec(`${sqliteMigrations[0]} ${insertDue}; PRAGMA user_version = 1`)
  first.close()
  const store = openSqlite(file, { ...options, now: Date.now })
  expect(await counted(store)).toEqual([7])
  await store.close()
})

it('an SQLite file with runs that were still to be listed: they are listed', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-steps-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'pipespan.db')
  const open = (): Store => openSqlite(file, { ...options, now: () => t0 })
  const store = open()
  await store.runs.transact(mergeObservations([event('failed', { finishedAt: t0 }, [])], 'webhook', rules))
  const search = async (by: Store): Promise<unknown> => by.views.search({ status: 'failed', text: 'main', limit: 10 })
  const before = await search(store)
  expect(before).toMatchObject({ runs: [{}] })
  await store.close()
  const old = new DatabaseSync(file)
  old.exec(`DELETE FROM listed_runs; CREATE TABLE unlisted_runs (run_id INTEGER PRIMARY KEY, version INTEGER NOT NULL);
    INSERT INTO unlisted_runs SELECT id, 1 FROM runs; PRAGMA user_version = 10`)
  old.close()
  const again = open()
  expect(await search(again)).toEqual(before)
  await again.close()
})

it('a PostgreSQL database of the first schema: its deployments are counted', async () => {
  const url = await newDatabase()
  const client = new pg.Client(url)
  await client.connect()
  await client.query(
    `${postgresMigrations[0]} ${insertDue};
     CREATE TABLE pipespan_schema (version integer NOT NULL); INSERT INTO pipespan_schema VALUES (1)`,
  )
  await client.end()
  const store = await openPostgres(url, options)
  expect(await counted(store)).toEqual([7])
  await store.close()
})

it('an SQLite file with keys of deliveries in three tables: they are known', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-steps-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'pipespan.db')
  const before = new DatabaseSync(file)
  const now = Date.now()
  before.exec(`${sqliteMigrations.slice(0, 9).join('\n')} PRAGMA user_version = 9;
    INSERT INTO delivery_keys (key, seen_at) VALUES ('a', ${now});
    INSERT INTO gathered_delivery_keys (key, seen_at) VALUES ('b', ${now}), ('a', ${now - 1});
    INSERT INTO recent_delivery_keys (seq, key, seen_at) VALUES (1, 'c', ${now})`)
  before.close()
  const store = openSqlite(file, { ...options, now: Date.now })
  const put = async (key: string) => store.inbox.put([delivery(key)])
  expect([await put('a'), await put('b'), await put('c')].flat()).toEqual(['duplicate', 'duplicate', 'duplicate'])
  expect(await put('d')).toEqual(['accepted'])
  await store.close()
})
