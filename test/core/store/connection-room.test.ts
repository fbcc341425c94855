// Tests a daemon that would need more connections than PostgreSQL has left. It refuses to start, because it would fail under load.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgres } from '../../support/stores.ts'
import { startPostgres, type PostgresServer } from './postgres-server.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

let server: PostgresServer
beforeAll(async () => (server = await startPostgres({ connections: 53 })))
afterAll(async () => server.dispose())

/** Opens a session that PostgreSQL lists as another daemon's session. */
async function otherDaemon(name: string, database: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database, application_name: `pipespan daemon 1 on ${name}` })
  await client.connect()
  return client
}

describe('a daemon on a PostgreSQL server with 50 connections', () => {
  it('starts if five other daemons run, but not if six do, and then says how to fix this', async () => {
    const database = await server.newDatabase()
    const options = { maxSize: 2 ** 30, daemon: true } as const
    const opened: Store[] = [await openPostgres(database, options)]
    const others = await Promise.all([1, 2, 3, 4, 5].map(async id => otherDaemon(`pod-${id}`, database)))
    opened.push(await openPostgres(database, options))
    others.push(await otherDaemon('pod-6', database))
    await expect(openPostgres(database, options)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^PostgreSQL allows 50 connections; 7 daemons need up to 56.*Raise max_connections of the server, run fewer replicas, or put a pooler/s,
      ) as string,
    })
    // A command may connect even if there are too few connections for a daemon.
    opened.push(await openPostgres(database, { maxSize: 2 ** 30 }))
    await Promise.all([...others.map(async other => other.end()), ...opened.map(async store => store.close())])
  })

  it('refuses to start if a program with another database role uses too many connections', async () => {
    const database = await server.newDatabase()
    const administrator = new pg.Client({ connectionString: database })
    await administrator.connect()
    const name = new URL(database).pathname.slice(1)
    await administrator.query(`CREATE ROLE plain LOGIN PASSWORD 'plain'; ALTER DATABASE "${name}" OWNER TO plain`)
    await administrator.query('ALTER SCHEMA public OWNER TO plain')
    const own = new URL(database)
    Object.assign(own, { username: 'plain', password: 'plain' })
    const crowd = Array.from({ length: 42 }, () => new pg.Client({ connectionString: database }))
    await Promise.all(crowd.map(async one => one.connect()))
    const options = { maxSize: 2 ** 30, daemon: true } as const
    await expect(openPostgres(own.href, options)).rejects.toThrow(/other programs have 43/)
    await Promise.all(crowd.map(async one => one.end()))
    await expect.poll(async () => openPostgres(own.href, options).then(async store => store.close())).toBeUndefined()
    await administrator.end()
  })
})
