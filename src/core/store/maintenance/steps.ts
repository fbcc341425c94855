// Deletes in small steps, with a pause after each for other users of the store.
import type { Clock } from '../../../lib/clock.ts'
import type { Millis } from '../../../model/instant.ts'

/** Called from time to time, as the size of a store is expensive to compute. */
export type IsEnough = () => Promise<boolean>

/** Deletes rows older than `before`, which never decreases from call to call, until `isEnough`. Returns how many. */
export type Sweep = (before: Millis, isEnough?: IsEnough) => Promise<number>

export interface Steps {
  /** Repeats a step until it has less to do than `rows`; returns the sum. */
  repeat(step: (rows: number) => Promise<number>, isEnough?: IsEnough): Promise<number>
  /** A sweep of steps that each look at the next rows; it continues where the call before ended. */
  onward<Cursor>(
    step: (
      before: Millis,
      rows: number,
      from: Cursor | undefined,
    ) => Promise<{ readonly pruned: number; readonly next?: Cursor | undefined }>,
  ): Sweep
}

/** Rows of one transaction, and the pause after it, ms. */
const rows = 50
const pause = 5
const stepsPerQuestion = 20

/** `mayGoOn`: false ends all work in progress. */
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

// The retention of what a store keeps: how long, what may be deleted earlier, and how.

/** How long each is stored, ms. */
export interface KeepTimes {
  /** Exported runs, dead letters and quarantined deliveries. */
  readonly retention: number
  /** The tombstone of a pruned run. */
  readonly remember: number
  /** Figures over time, and what they are made of. */
  readonly keepFigures: number
}

/** How full a store is that must free space. */
export type Pressure = 'nearlyFull' | 'full'

export interface Kept {
  /** Its name in the counter of pruned rows. */
  readonly kind: string
  /** How long it is stored, ms. */
  readonly keep: number
  /** The age below which a row stays even if the store is nearly full, or practically full, ms. Undefined: no row is deleted early. */
  readonly spared?: Readonly<Record<Pressure, number>> | undefined
  /** `early`: the present, if rows may be deleted before the end of their retention. */
  sweep(early?: Millis): Sweep
}
