// How far a list is read before a later round, or the same command, continues it; and what it means if the platform refuses a request.
import { PlatformError } from '../../platform/port.ts'

/** Pages of a list that one round reads. Then other lists have their turn, and the next round continues. */
export const maxPages = 500
/** Pages of one list that a backfill reads: ten million items. */
export const maxBackfillPages = 100_000

export function errorOfEndless(list: string, pages: number): PlatformError {
  return new PlatformError({
    kind: 'refused',
    what: `The list of ${list} has more than ${pages} pages, which were read.`,
    remedy: 'Backfill a shorter range.',
  })
}

/** Undefined if the token may not read this, or the platform does not have it: for answers that are not essential. */
export async function unlessRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof PlatformError && isRefusal(error)) return undefined
    throw error
  }
}

/** True if the platform refuses this request, but may answer others. */
export function isRefusal({ kind }: PlatformError): boolean {
  return kind === 'not-found' || kind === 'forbidden' || kind === 'refused'
}

/** True if the error concerns one project or source only: a backfill reads the others all the same. */
export function concernsOne(error: unknown): error is PlatformError {
  return error instanceof PlatformError && (isRefusal(error) || error.kind === 'unexpected-answer')
}

/** True if every request may be refused alike, or only this one: the platform, or a proxy before it, does not say. */
export function mayConcernAll(error: unknown): error is PlatformError {
  return error instanceof PlatformError && (error.kind === 'unauthorized' || error.kind === 'not-the-api')
}

/** After this number of such refusals in a row, they concern every request. */
export const maxRefusals = 3
