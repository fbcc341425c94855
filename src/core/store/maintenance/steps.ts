// Deletes rows in small steps, with a pause after each for other users of the store.
import type { Clock } from '../../../lib/clock.ts'
import type { Millis } from '../../../model/instant.ts'

/** Returns whether enough space was freed. It is called only from time to time, because the size of a store is expensive to compute. */
export type IsEnough = () => Promise<boolean>

/**
 * Deletes rows older than `before` until `isEnough` returns true. `before` never decreases from one call to the next. Returns the number of deleted
 * rows.
 */
export type Sweep = (before: Millis, isEnough?: IsEnough) => Promise<number>

export interface Steps {
  /** Repeats a step until it processes fewer rows than requested. Returns the total number of processed rows. */
  repeat(step: (rows: number) => Promise<number>, isEnough?: IsEnough): Promise<number>
  /** Creates a sweep whose steps each check the next rows. The sweep continues where the previous call ended. */
  onward<Cursor>(
    step: (
      before: Millis,
      rows: number,
      from: Cursor | undefined,
    ) => Promise<{ readonly pruned: number; readonly next?: Cursor | undefined }>,
  ): Sweep
}

/** The number of rows in one transaction, and the pause after it in ms. */
const rows = 50
const pause = 5
const stepsPerQuestion = 20

/** Creates the functions that delete rows in small steps. When `mayGoOn` returns false, all work in progress ends. */
export function createSteps(mayGoOn: () => Promise<boolean>, clock: Clock): Steps {
  async function each(step: () => Promise<'last' | 'more'>, isEnough: IsEnough | undefined): Promise<void> {
    for (let done = 1; await mayGoOn(); done += 1) {
      if ((await step()) === 'last') return
      if (isEnough !== undefined && done % stepsPerQuestion === 0 && (await isEnough())) return
      await clock.sleep(pause)
    }
  }
  return {
    repeat: async (step, isEnough) => {
      let sum = 0
      await each(async () => {
        const done = await step(rows)
        sum += done
        return done < rows ? 'last' : 'more'
      }, isEnough)
      return sum
    },
    onward: step => {
      let from: Parameters<typeof step>[2]
      return async (before, isEnough) => {
        let sum = 0
        await each(async () => {
          const { pruned, next } = await step(before, rows, from)
          sum += pruned
          from = next ?? from
          return next === undefined ? 'last' : 'more'
        }, isEnough)
        return sum
      }
    },
  }
}

// The retention of the rows in a store: how long they are stored, what may be deleted earlier, and how it is deleted.

/** How long each kind of row is stored, in ms. */
export interface KeepTimes {
  /** How long exported runs, dead letters and quarantined deliveries are stored, in ms. */
  readonly retention: number
  /** How long the tombstone of a pruned run is stored, in ms. */
  readonly remember: number
  /** How long figures over time, and the rows from which they are computed, are stored, in ms. */
  readonly keepFigures: number
}

/** The two levels of fullness at which a store must free space. */
export type Pressure = 'nearlyFull' | 'full'

export interface Kept {
  /** The kind of row, as named in the counter of pruned rows. */
  readonly kind: string
  /** How long rows of this kind are stored, in ms. */
  readonly keep: number
  /** For each level of fullness, the age in ms up to which a row is not deleted early. If undefined, no row is deleted early. */
  readonly spared?: Readonly<Record<Pressure, number>> | undefined
  /** Creates the sweep that deletes these rows. `early` is the current time if rows may be deleted before the end of their retention. */
  sweep(early?: Millis): Sweep
}
