// The parts, the options and the outcomes of a rotation.
import type { Clock } from '../lib/clock.ts'
import type { IngestTokens } from './ingest-tokens.ts'
import type { Logbook, Progress } from './logbook.ts'
import type { Prove } from './otlp-proof.ts'
import type { RotationStore } from './rotation-store.ts'
import type { LockedTarget, Target } from './target.ts'

export interface RotationParts {
  readonly instance: IngestTokens
  readonly target: Target
  readonly prove: Prove
  /** Undefined if none is reachable, as in a job in another pod. */
  readonly store?: RotationStore | undefined
  readonly clock: Clock
  readonly progress: Progress
  readonly pace?: Partial<Pace>
}

/** The intervals and timeouts of a rotation. */
export interface Pace {
  /** Between two reads of the reports or of the list, ms. */
  readonly pollMs: number
  /** How long the OTLP endpoint may take to accept a new token, ms. */
  readonly patienceMs: number
  /** How long a new token may take to appear in the list, ms. */
  readonly creationMs: number
}

export const defaultPace: Pace = { pollMs: 1000, patienceMs: 30_000, creationMs: 15_000 }

export interface RotationOptions {
  readonly name: string
  /** How long daemons may take to use the new token, ms. */
  readonly graceMs: number
  /** A current token younger than this is kept, ms. */
  readonly maxAgeMs?: number | undefined
  /** Treat all listed tokens of that name as this target's: they may be revoked. */
  readonly adopt: boolean
  /** Revoke after the grace period even if a report is missing. */
  readonly force: boolean
  /** Do not revoke: the next rotation revokes the older tokens. */
  readonly keepOlder?: boolean | undefined
}

export type RotationOutcome =
  | {
      readonly kind: 'rotated'
      readonly tokenId: string
      readonly fingerprint: string
      readonly revoked: readonly string[]
      /** Whether an earlier run had begun it. */
      readonly resumed: boolean
      readonly warnings: readonly string[]
    }
  | { readonly kind: 'young'; readonly ageMs: number; readonly warnings: readonly string[] }
  /** The new token is in the target and works; the older ones stay valid, because these daemons have not reported it. */
  | { readonly kind: 'kept'; readonly missing: readonly string[]; readonly warnings: readonly string[] }
  | { readonly kind: 'busy'; readonly reason: string }

/** A rotation that has its target's lock. */
export interface RotationSession {
  readonly parts: RotationParts
  readonly pace: Pace
  readonly options: RotationOptions
  readonly target: LockedTarget
  readonly log: Logbook
}
