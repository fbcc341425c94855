// `pipespan migrate` and `pipespan store copy|backup`: the commands that work on the store as a whole.
import { existsSync } from 'node:fs'
import { backupSqlite } from '../core/store/sqlite/backup.ts'
import { features } from '../features.ts'
import { tablesOf } from '../daemon/feature.ts'
import { openOwnStore, openStore, type StoreLocation } from '../core/store/open-store.ts'
import { sendsNothing } from '../core/store/ports/outbox.ts'
import { copyStore } from '../core/store/maintenance/copy.ts'
import { exitCode, print, table, type Terminal, printJson } from '../lib/terminal.ts'
import { StoreError } from '../lib/fault.ts'
import { quoted } from '../daemon/configuration/config-fault.ts'
import { storeUrl } from '../daemon/configuration/address-kinds.ts'
import type { Store } from '../core/store/ports/store.ts'

/** Commands write no deliveries, so the size limit does not apply to them. */
const noLimit = { maxSize: Number.MAX_SAFE_INTEGER, parts: tablesOf(features), encode: sendsNothing }

/** Migrates the configured store to this version's schema, unless a daemon is using it. Creates the store if there is none. */
export async function migrate(terminal: Terminal, location: StoreLocation): Promise<number> {
  const store = await openStore(location, noLimit)
  try {
    print(terminal, `The store ${storeUrl.show(location)} has schema ${await store.tables.schema()}.`)
    return exitCode.done
  } finally {
    await store.close()
  }
}

/**
 * Parses the location of a store. The value `configured` stands for the store in the configuration, so that nobody has to type a password on the
 * command line.
 */
export function locationOf(text: string, configured: () => StoreLocation): StoreLocation {
  if (text === 'configured') return configured()
  const parsed = storeUrl.parse(text)
  if ('value' in parsed) return parsed.value
  throw new StoreError(`${quoted(text)} is not a store URL.`, `${parsed.wrong.remedy} Or write configured.`)
}

export async function storeCopy(
  terminal: Terminal,
  from: StoreLocation,
  to: StoreLocation,
  { json }: { json: boolean },
): Promise<number> {
  if (from.engine === 'sqlite' && !existsSync(from.path)) {
    throw new StoreError(`There is no store at ${from.path}.`, 'Use the path of an existing store file.')
  }
  const source = await openOwnStore(from, noLimit)
  let target: Store | undefined
  try {
    target = await openOwnStore(to, noLimit)
    // On SQLite, no other process is using the file at this point. So any lease in the file belongs to a killed process, and can be ended at once.
    await source.reclaim()
    const counts = await copyStore({
      ...{ from: source, to: target, source: storeUrl.show(from) },
      onTable: (name, rows) => terminal.stderr.write(`${name}: ${rows} rows\n`),
    })
    if (json) {
      printJson(terminal, { to: storeUrl.show(to), rows: Object.fromEntries(counts) }, 2)
      return exitCode.done
    }
    print(terminal, table([['TABLE', 'ROWS'], ...[...counts].map(([name, rows]) => [name, String(rows)])]))
    print(terminal, `\nEverything is in ${storeUrl.show(to)}. Set PIPESPAN_STORE_URL to it before the next start.`)
    return exitCode.done
  } finally {
    await target?.close()
    await source.close()
  }
}

export async function storeBackup(terminal: Terminal, location: StoreLocation, target: string): Promise<number> {
  if (location.engine === 'postgres') {
    throw new StoreError(
      'A PostgreSQL store is backed up with PostgreSQL itself.',
      'Use pg_dump, or your provider’s snapshots; both work while Pipespan runs.',
    )
  }
  if (!existsSync(location.path))
    throw new StoreError(`There is no store at ${location.path} yet.`, 'There is nothing to back up.')
  backupSqlite(location.path, target)
  const file = location.path
  const beside = `${file}-wal and ${file}-shm`
  print(
    terminal,
    `Backed up to ${target}. To restore it, stop the daemon, move ${beside} away, and move the backup to ${file}.`,
  )
  return exitCode.done
}
