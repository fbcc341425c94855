// Whether the files of an open store are still the ones with its names. Once they are removed or replaced, SQLite goes on with the files that it has
// open and notices nothing, but what it writes is lost when the process ends.
import { statSync } from 'node:fs'
import { StoreGone } from '../../../lib/fault.ts'
import type { Log } from '../../../lib/log.ts'

export interface FilesInPlace {
  isInPlace(): boolean
  /** Throws StoreGone. */
  proveInPlace(): void
}

/** The database, its write-ahead log, and the index of that. */
const endings = ['', '-wal', '-shm']

/** To be called while the store is open. `log`: what is found is logged once until it is over. */
export function filesInPlace(file: string, log?: Log): FilesInPlace {
  const names = endings.map(ending => `${file}${ending}`)
  const opened = names.map(identityOf)
  let wasInPlace = true

  function missing(): string | undefined {
    return names.find((name, at) => {
      const found = identityOf(name)
      // A log may be created after the store was opened.
      opened[at] ??= found
      return found !== opened[at]
    })
  }

  function faultNow(): StoreGone | undefined {
    const name = missing()
    const fault = name === undefined ? undefined : goneFault(file, name)
    if (wasInPlace && fault !== undefined) log?.error(fault.message)
    if (!wasInPlace && fault === undefined) log?.info({ file }, 'the files of the store are in their places again')
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

/** A store in memory. */
export const alwaysInPlace: FilesInPlace = { isInPlace: () => true, proveInPlace: () => undefined }

function goneFault(file: string, name: string): StoreGone {
  return new StoreGone(
    `${name} was removed, replaced or emptied while the store is open: webhooks are refused, because what is written now would be lost.`,
    `Put the same file back, or restart the daemon: it begins with what is at ${file} then. Until then it still exports what is pending.`,
  )
}

/** Undefined if there is none, or if this process cannot see it. */
function identityOf(name: string): string | undefined {
  try {
    const { dev, ino, size } = statSync(name, { bigint: true })
    const isEmptied = size === 0n && !name.endsWith('-wal')
    return isEmptied ? undefined : `${dev}:${ino}`
  } catch {
    return undefined
  }
}
