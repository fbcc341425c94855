// The parts, options and outcomes of a token rotation.
import type { Clock } from '../../lib/clock.ts'
import type { IngestTokens } from './client.ts'
import type { Logbook, Progress } from './logbook.ts'
import type { Prove } from './otlp-proof.ts'
import type { RotationStore } from './rotation-store.ts'
import type { LockedTarget, Target } from './target.ts'

export interface RotationParts {
  readonly instance: IngestTokens
  readonly target: Target
  readonly prove: Prove
  /** The store; undefined if none is reachable, for example when the rotation runs in a job in another pod. */
  readonly store?: RotationStore | undefined
  readonly clock: Clock
  readonly progress: Progress
  readonly timing?: Partial<Timing>
}

/** The poll interval and the timeouts of a rotation. */
export interface Timing {
  /** The interval at which the rotation polls the daemons' reports or the token list, ms. */
  readonly pollMs: number
  /** The maximum wait for the OTLP endpoint to accept a new token, ms. */
  readonly proofTimeoutMs: number
  /** The maximum wait for a new token to appear in the token list, ms. */
  readonly creationMs: number
}

export const defaultTiming: Timing = { pollMs: 1000, proofTimeoutMs: 30_000, creationMs: 15_000 }

export interface RotationOptions {
  readonly name: string
  /** The grace period within which daemons must start using the new token, ms. */
  readonly graceMs: number
  /** The minimum age at which a current token is replaced, ms. */
  readonly maxAgeMs?: number | undefined
  /** Whether all listed tokens with the target's name belong to this target and may be revoked. */
  readonly adopt: boolean
  /** Whether the older tokens are revoked after the grace period even if a daemon's report is missing. */
  readonly force: boolean
  /** Whether to skip revoking older tokens in this rotation. The next rotation then revokes them. */
  readonly keepOlder?: boolean | undefined
}

export type RotationOutcome =
  | {
      readonly kind: 'rotated'
      readonly tokenId: string
      readonly fingerprint: string
      readonly revoked: readonly string[]
      /** Whether this run resumed a rotation that an earlier run started. */
      readonly resumed: boolean
      readonly warnings: readonly string[]
    }
  | { readonly kind: 'young'; readonly ageMs: number; readonly warnings: readonly string[] }
  /** The new token is in the target and works. The older tokens stay valid, because the daemons in `missing` have not reported the new token. */
  | { readonly kind: 'kept'; readonly missing: readonly string[]; readonly warnings: readonly string[] }
  | { readonly kind: 'busy'; readonly reason: string }

/** A running rotation, which holds its target's lock. */
export interface RotationSession {
  readonly parts: RotationParts
  readonly timing: Timing
  readonly options: RotationOptions
  readonly target: LockedTarget
  readonly log: Logbook
}
