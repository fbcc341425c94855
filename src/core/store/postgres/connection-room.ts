// Checks whether the PostgreSQL server has enough connections for one more daemon. Connections are opened only on demand, so one daemon too many
// would start normally and fail later, or make other daemons fail. The check counts daemons by the names of their sessions, and reserves the maximum
// number of connections for each.
import os from 'node:os'
import type pg from 'pg'
import { number } from '../sql/columns.ts'
import { StoreError } from '../../../lib/fault.ts'
import type { Log } from '../../../lib/log.ts'

/** The maximum number of PostgreSQL connections of one daemon. */
export const connectionsPerDaemon = 8

const prefix = 'pipespan daemon '

/** Returns the name of this daemon's sessions. Its connections are counted by this name. */
export function daemonSessions(): string {
  return `${prefix}${process.pid} on ${os.hostname()}`.slice(0, 63)
}

/**
 * An ordinary role cannot read the type, and perhaps not even the name, of other roles' sessions. Such sessions are counted as those of other
 * programs.
 */
const room = `
  SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
       - coalesce(current_setting('reserved_connections', true)::int, 0) AS allowed,
    (SELECT count(DISTINCT application_name) FROM pg_stat_activity
     WHERE application_name LIKE $1 || '%' AND application_name <> $2)::int AS daemons,
    (SELECT count(*) FROM pg_stat_activity
     WHERE datid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend'
       AND coalesce(application_name, '') NOT LIKE $1 || '%')::int AS others,
    coalesce(inet_client_port(), 0) AS port`

/**
 * Throws StoreError if the server has no connections left for this daemon. Behind a pooler, which multiplexes its own connections, it only logs a
 * warning.
 */
export async function checkConnectionRoom(pool: pg.Pool, log: Log | undefined): Promise<void> {
  const client = await pool.connect()
  try {
    const [row = {}] = (await client.query<Record<string, unknown>>(room, [prefix, daemonSessions()])).rows
    const [allowed, others, daemons] = [number('allowed')(row), number('others')(row), number('daemons')(row) + 1]
    const needed = daemons * connectionsPerDaemon
    if (needed + others <= allowed) return
    const rest = others === 0 ? '' : `, and other programs have ${others}`
    const what = `PostgreSQL allows ${allowed} connections; ${daemons} ${daemons === 1 ? 'daemon needs' : 'daemons need'} up to ${needed}${rest}.`
    const remedy =
      'Raise max_connections of the server, run fewer replicas, or put a pooler such as PgBouncer before it.'
    if (isDirect(client, number('port')(row))) throw new StoreError(what, remedy)
    log?.warn({ allowed, needed, others, remedy }, 'PostgreSQL may run out of connections')
  } finally {
    client.release()
  }
}

/**
 * Whether the server sees the same client port as this process, which means that there is no pooler in between. 0 means a local socket. The driver's
 * types do not include the socket.
 */
function isDirect(client: pg.PoolClient, seen: number): boolean {
  const { connection } = client as unknown as { connection?: { stream?: { localPort?: number } } }
  return seen === 0 || connection?.stream?.localPort === seen
}
