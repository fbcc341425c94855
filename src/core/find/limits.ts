// The limits at which the daemon stops reading a list. A later polling round, or a repeated command, continues. This file also classifies the errors
// with which the platform rejects a request.
import { PlatformError } from '../../platform/port.ts'

/**
 * The maximum number of pages of one list that are read in a polling round. Then other lists are read, and the next round continues with this one.
 */
export const maxPages = 500
/** The maximum number of pages of one list that a backfill reads: ten million items. */
export const maxBackfillPages = 100_000

export function endlessListError(list: string, pages: number): PlatformError {
  return new PlatformError({
    kind: 'refused',
    what: `The list of ${list} has more than ${pages} pages; only these were read.`,
    remedy: 'Backfill a shorter range.',
  })
}

/** Returns undefined if the token has no permission for this data, or if the platform does not have the data. Used for data that is not essential. */
export async function unlessRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof PlatformError && isRefusal(error)) return undefined
    throw error
  }
}

/** True if the platform rejects this request, but may accept others. */
export function isRefusal({ kind }: PlatformError): boolean {
  return kind === 'not-found' || kind === 'forbidden' || kind === 'refused'
}

/** True if the error concerns only one project or source. A backfill then continues with the other projects. */
export function concernsOne(error: unknown): error is PlatformError {
  return error instanceof PlatformError && (isRefusal(error) || error.kind === 'unexpected-answer')
}

/**
 * True if it is unclear whether the platform rejects every request or only this one: neither the platform nor a proxy in front of it reports that.
 */
export function mayConcernAll(error: unknown): error is PlatformError {
  return error instanceof PlatformError && (error.kind === 'unauthorized' || error.kind === 'not-the-api')
}

/** The number of consecutive rejections with an unclear scope after which the platform counts as rejecting every request. */
export const maxRefusals = 3
