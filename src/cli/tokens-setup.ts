// What the token commands work with, made from the configuration by whoever wires them.
import type { Clock } from '../lib/clock.ts'
import type { Secret } from '../lib/secret.ts'
import type { IngestTokens } from '../tokens/client.ts'
import type { Prove } from '../tokens/otlp-proof.ts'
import type { RotationStore } from '../tokens/rotation-store.ts'

export interface TokensSetup {
  readonly instance: IngestTokens
  /** Against the OTLP endpoint that the daemon exports to. */
  readonly prove: Prove
  /** The token of the moment that the daemon sends to that endpoint, as its variable or file holds it. */
  readonly currentToken: () => Secret | undefined | Promise<Secret | undefined>
  /** The tokens of the moment of all its destinations. */
  readonly tokens: () => readonly Secret[] | Promise<readonly Secret[]>
  /** The files that it reads them from, as far as it does. */
  readonly tokenFiles: readonly string[]
  readonly store?: RotationStore | undefined
  readonly clock: Clock
  /** For one request to the Kubernetes API, ms. */
  readonly timeoutMs: number
}
