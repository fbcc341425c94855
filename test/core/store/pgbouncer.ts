// Starts PgBouncer, if it is installed, in transaction mode in front of a PostgreSQL server, for tests. Like PostgreSQL, it refuses to run as root,
// so in that case it runs as `nobody`.
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { freePorts } from '../../../src/simulator/daemon-process.ts'

const nobody = 65_534

export const hasPgBouncer = ((): boolean => {
  try {
    execFileSync('pgbouncer', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

export interface PgBouncer {
  /** Returns the URL of the same database through the pooler. */
  through(url: string): string
  stop(): Promise<void>
}

/** Starts PgBouncer with four server connections per database. It rejects start-up parameters that it does not know. */
export async function startPgBouncer(url: string): Promise<PgBouncer> {
  const { hostname, port, username, password } = new URL(url)
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-pgbouncer-'))
  const [listen = 0] = await freePorts(1)
  const users = path.join(folder, 'users.txt')
  const settings = path.join(folder, 'pgbouncer.ini')
  writeFileSync(users, `"${username}" "${password}"\n`)
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listen}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
default_pool_size = 4
max_client_conn = 100
server_idle_timeout = 1
`,
  )
  const isRoot = process.getuid?.() === 0
  if (isRoot) for (const place of [folder, users, settings]) chownSync(place, nobody, nobody)
  chmodSync(users, 0o600)
  const child = spawn('pgbouncer', [settings], {
    stdio: 'ignore',
    cwd: folder,
    ...(isRoot ? { uid: nobody, gid: nobody } : {}),
  })
  const ended = new Promise(resolve => child.once('exit', resolve))
  const through = (given: string): string => {
    const way = new URL(given)
    way.port = String(listen)
    return way.href
  }
  for (let tries = 1; ; tries += 1) {
    const client = new pg.Client(through(url))
    try {
      await client.connect()
      break
    } catch (error) {
      if (tries === 3_000) throw error
      await new Promise(resolve => setTimeout(resolve, 50))
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  return {
    through,
    stop: async () => {
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
