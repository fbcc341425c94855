// Checks whether the files of an open store are still the ones on disk. If they are removed or replaced, SQLite goes on using the open files without
// noticing, and all data written from then on is lost when the process exits.
import { statSync } from 'node:fs'
import { StoreGone } from '../../../lib/fault.ts'
import type { Log } from '../../../lib/log.ts'

export interface FilesInPlace {
  isInPlace(): boolean
  /** Throws StoreGone if the files of the store were removed or replaced. */
  proveInPlace(): void
}

/** The file name suffixes of the database, its write-ahead log, and the index of that log. */
const endings = ['', '-wal', '-shm']

/** Watches the files of an open store. It must be called while the store is open. Each problem is logged to `log` once, until it is resolved. */
export function filesInPlace(file: string, log?: Log): FilesInPlace {
  const names = endings.map(ending => `${file}${ending}`)
  const opened = names.map(identityOf)
  let wasInPlace = true

  function missing(): string | undefined {
    return names.find((name, at) => {
      const found = identityOf(name)
      // SQLite may create the write-ahead log after the store was opened.
      opened[at] ??= found
      return found !== opened[at]
    })
  }

  function faultNow(): StoreGone | undefined {
    const name = missing()
    const fault = name === undefined ? undefined : goneFault(file, name)
    if (wasInPlace && fault !== undefined) log?.error(fault.message)
    if (!wasInPlace && fault === undefined) log?.info({ file }, 'the files of the store are back in place')
    wasInPlace = fault === undefined
    return fault
  }

  return {
    isInPlace: () => faultNow() === undefined,
    proveInPlace: () => {
      const fault = faultNow()
      if (fault !== undefined) throw fault
    },
  }
}

/** The check for a store in memory. It always succeeds, because such a store has no files. */
export const alwaysInPlace: FilesInPlace = { isInPlace: () => true, proveInPlace: () => undefined }

function goneFault(file: string, name: string): StoreGone {
  return new StoreGone(
    `${name} was removed, replaced or emptied while the store was open: webhooks are refused, because new data would be lost.`,
    `Put the same file back, or restart the daemon, which then uses whatever is at ${file}. Until then, it still exports pending data.`,
  )
}

/** Returns the identity of a file. Undefined if the file does not exist or this process cannot access it. */
function identityOf(name: string): string | undefined {
  try {
    const { dev, ino, size } = statSync(name, { bigint: true })
    const isEmptied = size === 0n && !name.endsWith('-wal')
    return isEmptied ? undefined : `${dev}:${ino}`
  } catch {
    return undefined
  }
}
