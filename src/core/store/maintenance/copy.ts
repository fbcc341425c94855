// Copies one store into another, whichever databases they use, in steps that can be resumed after an interruption. At the end it compares the row
// counts.
import { createHash } from 'node:crypto'
import { StoreError } from '../../../lib/fault.ts'
import { maintenanceLease } from './maintenance.ts'
import type { Leases } from '../ports/store.ts'
import type { Repositories } from '../ports/repository.ts'
import type { Table, Tables } from '../sql/tables.ts'

export interface Copyable {
  readonly tables: Tables
  readonly leases: Leases
  readonly repositories: Pick<Repositories, 'copy'>
}

export interface CopyOptions {
  readonly from: Copyable
  readonly to: Copyable
  /** A string that identifies the source and contains no secrets. An interrupted copy is resumed only from the same source. */
  readonly source: string
  /** Called after each table has been copied. */
  readonly onTable?: ((name: string, rows: number) => void) | undefined
}

/** The number of rows copied in one transaction: `large` for tables with delivery bodies, whose rows are large, and `default` for all others. */
const rowsAtOnce = { large: 16, default: 500 }
/**
 * The duration of the lease that prevents a daemon from starting on either store during the copy, ms. If the copy crashes, the lease expires within
 * this time.
 */
const leaseMs = 60_000
const renewMs = 10_000
const copyLease = 'store-copy'
const forGood = 100 * 365 * 24 * 3_600_000

/**
 * Copies the store, and returns the number of rows of each table. Throws StoreError if either store is in use, or if the target has other content.
 */
export async function copyStore(options: CopyOptions): Promise<ReadonlyMap<string, number>> {
  const { from, to } = options
  const pairs = await paired(from.tables, to.tables)
  const holder = `copy of ${createHash('sha256').update(options.source).digest('hex').slice(0, 16)}`
  let renewed = -Infinity
  const renew = async (): Promise<void> => {
    if (performance.now() - renewed < renewMs) return
    for (const store of [from, to]) await reserve(store.leases, holder)
    renewed = performance.now()
  }
  try {
    await renew()
    await begin(from, to, pairs, holder)
    for (const table of pairs) {
      await renew()
      await copyTable(table, from.tables, to.tables, renew)
      options.onTable?.(table.name, await to.tables.count(table))
    }
    await to.tables.finish()
    const counts = await verified(pairs, from.tables, to.tables)
    for (const { repositories } of [from, to]) await repositories.copy.remove({})
    await to.leases.release(copyLease, holder)
    return counts
  } finally {
    for (const store of [from, to]) await store.leases.release(maintenanceLease, holder)
  }
}

async function copyTable(table: Table, from: Tables, to: Tables, renew: () => Promise<void>): Promise<void> {
  const limit = table.columns.includes('body') ? rowsAtOnce.large : rowsAtOnce.default
  // Rows are written in key order, so an interrupted copy resumes after the greatest key.
  let after = await to.last(table)
  for (;;) {
    await renew()
    const rows = await from.read(table, after, limit)
    if (rows.length > 0) await to.write(table, rows)
    if (rows.length < limit) return
    const last = rows.at(-1)
    after = table.key.map(name => last?.[table.columns.indexOf(name)] ?? null)
  }
}

/** Takes the lease that a running daemon would hold. */
async function reserve(leases: Leases, holder: string): Promise<void> {
  if (await leases.take(maintenanceLease, holder, leaseMs)) return
  throw new StoreError(
    'A Pipespan daemon uses one of the two stores.',
    'Stop every daemon of both stores first. On PostgreSQL a daemon that was killed counts as stopped after 30 s.',
  )
}

/** Marks both stores, so that an interrupted copy can be resumed, but only if no daemon has used either store in the meantime. */
async function begin(from: Copyable, to: Copyable, tables: readonly Table[], holder: string): Promise<void> {
  const isBegun = !(await to.leases.take(copyLease, 'nobody', 0))
  if (isBegun) {
    const isOurs = await to.leases.take(copyLease, holder, forGood)
    if (isOurs && (await from.repositories.copy.get({}))?.holder === holder) return
    throw new StoreError(
      isOurs
        ? 'The source store was used after the copy had started.'
        : 'This store has an unfinished copy of another store.',
      'Copy into a new file or an empty database.',
    )
  }
  for (const table of tables) {
    if ((await to.tables.count(table)) === 0) continue
    throw new StoreError(
      `The store to copy into is not empty: its table ${table.name} has rows.`,
      'Copy into a new file or an empty database.',
    )
  }
  await from.repositories.copy.put({ holder })
  await to.leases.take(copyLease, holder, forGood)
}

/** Returns the tables of the source. Throws StoreError unless the target has the same tables. */
async function paired(from: Tables, to: Tables): Promise<readonly Table[]> {
  const targets = new Map((await to.list()).map(table => [table.name, table]))
  const tables = await from.list()
  for (const { name, columns } of tables) {
    const known = targets.get(name)?.columns ?? []
    if (columns.length === known.length && columns.every(column => known.includes(column))) continue
    throw new StoreError(
      `The two stores have different schemas: see the table ${name}.`,
      'Run `pipespan migrate` on both with the newest version in use.',
    )
  }
  return tables
}

async function verified(tables: readonly Table[], from: Tables, to: Tables): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const table of tables) {
    const [before, after] = [await from.count(table), await to.count(table)]
    if (before !== after) {
      throw new StoreError(
        `The copy is not complete: the table ${table.name} has ${before} rows and its copy ${after}.`,
        'Something wrote to a store during the copy: stop it, and copy again into an empty store.',
      )
    }
    counts.set(table.name, after)
  }
  return counts
}
