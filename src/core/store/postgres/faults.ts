// Turns errors of PostgreSQL and its driver into faults: the data's, or the store's.
import pg from 'pg'
import { DataError, Fault, reasonOf, StoreError } from '../../../lib/fault.ts'
import { isOfTheSchema, otherSchema } from '../sql/schema.ts'

/** Only classes 22 (data exception) and 23 (integrity constraint) are blamed on the data. Any other error may pass at the next try. */
export function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error
  if (error instanceof pg.DatabaseError && /^2[23]/.test(error.code ?? '')) {
    const what = `The PostgreSQL store cannot store this data: ${reasonOf(error)} (${error.code}).`
    return new DataError(what, 'Please report it.', { cause: error })
  }
  return (
    schemaFault(error) ??
    new StoreError(
      `A PostgreSQL operation failed: ${reasonOf(error)}.`,
      'Check that the server is up, reachable and has disk space; Pipespan retries automatically.',
      { cause: error },
    )
  )
}

/** Undefined if the error has another cause than a schema that is not this version's. */
export function schemaFault(error: unknown): StoreError | undefined {
  if (!(error instanceof pg.DatabaseError) || !isOfTheSchema.postgres.test(error.code ?? '')) return undefined
  return otherSchema('The PostgreSQL store', error, 'a new database')
}
