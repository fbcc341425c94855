// Declares the calls of the observability instance's ingest-token API that the rest of the room uses.
import type { ListedToken } from './listed-token.ts'
import type { Secret } from '../../lib/secret.ts'

export interface CreatedToken {
  readonly value: Secret
  /** Undefined if the answer has no ID: the platform's documentation does not promise one. */
  readonly id: string | undefined
}

/** `last`: the instance refused, because this is the last valid token and enforcement is on. `gone`: the token did not exist (404), and is not listed. */
export type Revocation = 'revoked' | 'gone' | 'last'

/** Every function throws an InstanceError if the instance does not do what was requested. */
export interface IngestTokens {
  /** The configured URL, which identifies the instance. */
  readonly url: string
  create(name: string): Promise<CreatedToken>
  list(): Promise<readonly ListedToken[]>
  revoke(id: string): Promise<Revocation>
  /** True if the instance drops telemetry without a valid token. */
  enforcement(): Promise<boolean>
  /** Turns enforcement on or off, with immediate effect. Answers the new state. */
  setEnforcement(enabled: boolean): Promise<boolean>
}
