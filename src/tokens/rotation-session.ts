// What a rotation works with, what the operator asked of it, and how it can end.
import type { Clock } from '../lib/clock.ts'
import type { IngestTokens } from './client.ts'
import type { Logbook, Progress } from './logbook.ts'
import type { Prove } from './otlp-proof.ts'
import type { RotationStore } from './rotation-store.ts'
import type { LockedTarget, Target } from './target.ts'

export interface RotationParts {
  readonly instance: IngestTokens
  readonly target: Target
  readonly prove: Prove
  /** Undefined where none is reachable, as in a job in another pod. */
  readonly store?: RotationStore | undefined
  readonly clock: Clock
  readonly progress: Progress
  readonly pace?: Partial<Pace>
}

/** How patient a rotation is. */
export interface Pace {
  /** Between two looks at the reports or at the list, ms. */
  readonly pollMs: number
  /** How long the OTLP endpoint may take to accept a new token, ms. */
  readonly patienceMs: number
  /** How long a creation that was sent may take to show in the list, ms. */
  readonly creationMs: number
}

export const defaultPace: Pace = { pollMs: 1000, patienceMs: 30_000, creationMs: 15_000 }

export interface RotationOptions {
  readonly name: string
  /** How long daemons may take to use the new token, ms. */
  readonly graceMs: number
  /** A current token younger than this is kept, ms. */
  readonly maxAgeMs?: number | undefined
  /** Every listed token of that name is this target's, and may be revoked. */
  readonly adopt: boolean
  /** Revoke at the end of the grace period even where a report is missing. */
  readonly force: boolean
  /** Stop once the new token is proved: the older ones are left for the next rotation. */
  readonly keepOlder?: boolean | undefined
}

export type RotationOutcome =
  | {
      readonly kind: 'rotated'
      readonly tokenId: string
      readonly fingerprint: string
      readonly revoked: readonly string[]
      /** True when an earlier run had begun it. */
      readonly resumed: boolean
      readonly warnings: readonly string[]
    }
  | { readonly kind: 'young'; readonly ageMs: number; readonly warnings: readonly string[] }
  /** The new token is in the target and works; the older ones stay valid, since these daemons do not report it. */
  | { readonly kind: 'kept'; readonly missing: readonly string[]; readonly warnings: readonly string[] }
  | { readonly kind: 'busy'; readonly reason: string }

/** One rotation that holds its target's lock. */
export interface RotationSession {
  readonly parts: RotationParts
  readonly pace: Pace
  readonly options: RotationOptions
  readonly target: LockedTarget
  readonly log: Logbook
}
