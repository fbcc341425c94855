// Opens stores for tests, with the tables of all features. Unless a test passes an encoder, the outbox stores its content as JSON, which tests can read
// (`of-run.ts`).
import * as postgres from '../../src/core/store/postgres/open-postgres.ts'
import * as sqlite from '../../src/core/store/sqlite/open-sqlite.ts'
import { features } from '../../src/features.ts'
import { tablesOf } from '../../src/daemon/feature.ts'
import type { EncodeMessages } from '../../src/core/store/ports/outbox.ts'
import type { SharedStore, Store, StoreOptions } from '../../src/core/store/ports/store.ts'

interface Encoder {
  readonly encode?: EncodeMessages | undefined
}
export type TestStoreOptions = Omit<StoreOptions, 'encode'> & Encoder
type PostgresOptions = Omit<Parameters<typeof postgres.openPostgres>[1], 'encode'> & Encoder

export const asJson: EncodeMessages = (chunk, to) =>
  [...Map.groupBy(to, ({ signal }) => signal)].map(([signal, queues]) => ({
    signal,
    body: Buffer.from(JSON.stringify(chunk)),
    destinations: queues.map(({ destination }) => destination),
  }))

const parts = tablesOf(features)

export function openSqlite(file: string, { encode = asJson, ...options }: TestStoreOptions): Store {
  return sqlite.openSqlite(file, { parts, ...options, encode })
}

export function openSqliteShared(file: string, { encode = asJson, ...options }: TestStoreOptions): SharedStore {
  return sqlite.openSqliteShared(file, { parts, ...options, encode })
}

export async function openPostgres(url: string, { encode = asJson, ...options }: PostgresOptions): Promise<Store> {
  return postgres.openPostgres(url, { parts, ...options, encode })
}
