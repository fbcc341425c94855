// Stores as tests open them: what is to be sent is stored as JSON, which tests can read (`of-run.ts`).
import * as postgres from '../../src/core/store/postgres/open-postgres.ts'
import * as sqlite from '../../src/core/store/sqlite/open-sqlite.ts'
import type { EncodeMessages } from '../../src/core/store/ports/outbox.ts'

const asJson: EncodeMessages = (chunk, to) =>
  [...Map.groupBy(to, ({ signal }) => signal)].map(([signal, queues]) => ({
    signal,
    body: Buffer.from(JSON.stringify(chunk)),
    destinations: queues.map(({ destination }) => destination),
  }))

function readable<S extends ReturnType<typeof openSqliteShared>>(store: S): S {
  store.outbox.encodeWith(asJson)
  return store
}

export const openSqlite: typeof sqlite.openSqlite = (...given) => readable(sqlite.openSqlite(...given))
export function openSqliteShared(...given: Parameters<typeof sqlite.openSqliteShared>) {
  const store = sqlite.openSqliteShared(...given)
  store.outbox.encodeWith(asJson)
  return store
}
export const openPostgres: typeof postgres.openPostgres = async (...given) =>
  readable(await postgres.openPostgres(...given))
