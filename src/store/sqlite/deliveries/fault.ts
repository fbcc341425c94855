// Errors of the delivery files: which ones mean that a file is damaged or that its disk cannot read it, and the remedy of the others.
import { damagedCodes, isSqliteError } from '../faults.ts'
import { reasonOf, StoreError } from '../../../lib/fault.ts'

/** A row that changed since it was written, or that is missing. */
export class DamagedFile extends Error {}

/** SQLITE_IOERR_READ, SQLITE_IOERR_SHORT_READ, SQLITE_IOERR_CORRUPTFS, SQLITE_IOERR_DATA */
const unreadable: readonly number[] = [266, 522, 8458, 8202]

export function isDamage(error: unknown): boolean {
  if (error instanceof DamagedFile) return true
  if (isSqliteError(error)) return damagedCodes.includes(error.errcode & 0xff) || unreadable.includes(error.errcode)
  // A number that none of our rows has.
  if (error instanceof RangeError && 'code' in error && error.code === 'ERR_OUT_OF_RANGE') return true
  return error instanceof Error && error.cause !== undefined && isDamage(error.cause)
}

export function deliveriesFault(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const isFull = error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
  return new StoreError(
    `The store cannot be written: ${reasonOf(error)}.`,
    isFull ? 'Free disk space, or move the store to a larger disk.' : 'Check that its folder is writable.',
    { cause: error },
  )
}

/** The result of `work`. Throws StoreError. */
export function orFault<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw deliveriesFault(error)
  }
}
