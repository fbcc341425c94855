// How far the lists are read that a later round, or the same command, can continue.
import { PlatformError } from '../../platform/port.ts'

/** Pages of a list in one round: then others have their turn, and the next round goes on. */
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
