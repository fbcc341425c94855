// The retention of what a store keeps: how long, what may be deleted earlier, and how.
import type { Millis } from '../../../model/instant.ts'
import type { Sweep } from '../maintenance/steps.ts'

/** How long each is stored, ms. */
export interface KeepTimes {
  /** Exported runs, dead letters and quarantined deliveries. */
  readonly retention: number
  /** The tombstone of a pruned run. */
  readonly remember: number
  /** Figures over time, and what they are made of. */
  readonly keepFigures: number
}

/** How full a store is that has to make room. */
export type Pressure = 'nearlyFull' | 'full'

export interface Kept {
  /** Its name in the counter of pruned rows. */
  readonly kind: string
  /** How long it is stored, ms. */
  readonly keep: number
  /** The age below which a row stays even if the store is nearly full, or practically full, ms. Undefined: no row is deleted early. */
  readonly spared?: Readonly<Record<Pressure, number>>
  /** `early`: the present, if rows may be deleted before the end of their retention. */
  sweep(early?: Millis): Sweep
}
