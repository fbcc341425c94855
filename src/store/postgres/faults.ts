// What PostgreSQL and the way to it say when something fails, in the family of this program: the data's fault, or the store's.
import pg from 'pg'
import { DataError, Fault, reasonOf, StoreError } from '../../lib/fault.ts'

/** Only what PostgreSQL says of the data (its classes 22 and 23) is the data's fault. The rest may do the next time, however it came. */
export function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error
  if (error instanceof pg.DatabaseError && /^2[23]/.test(error.code ?? '')) {
    const what = `The PostgreSQL store cannot store this data: ${reasonOf(error)} (${error.code}).`
    return new DataError(what, 'Please report it.', { cause: error })
  }
  return new StoreError(
    `A PostgreSQL operation failed: ${reasonOf(error)}.`,
    'Check that the server is up, reachable and has disk space; Pipespan retries automatically.',
    { cause: error },
  )
}
