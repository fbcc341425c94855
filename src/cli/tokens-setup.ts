// What the token commands need. `tokens-configuration.ts` makes it from the configuration, tests make their own.
import type { Clock } from '../lib/clock.ts'
import type { Secret } from '../lib/secret.ts'
import type { IngestTokens } from '../tokens/ingest-tokens.ts'
import type { Prove } from '../tokens/otlp-proof.ts'
import type { RotationStore } from '../tokens/rotation-store.ts'

export interface TokensSetup {
  readonly instance: IngestTokens
  /** Against the OTLP endpoint that the daemon exports to. */
  readonly prove: Prove
  /** The token that the daemon now sends to that endpoint, read from its variable or file. */
  readonly currentToken: () => Secret | undefined | Promise<Secret | undefined>
  /** The current tokens of all its destinations. */
  readonly tokens: () => readonly Secret[] | Promise<readonly Secret[]>
  /** The files of those that are read from files. */
  readonly tokenFiles: readonly string[]
  readonly store?: RotationStore | undefined
  readonly clock: Clock
  /** For one request to the Kubernetes API, ms. */
  readonly timeoutMs: number
}
