// The calls of the observability instance's ingest-token API, as the rest of the room sees them.
import type { ListedToken } from './listed-token.ts'
import type { Secret } from '../lib/secret.ts'

export interface CreatedToken {
  readonly value: Secret
  /** May be missing: the platform's documentation does not promise one. */
  readonly id: string | undefined
}

/** `last`: refused, because it is the last valid token and enforcement is on. `gone`: there was no such token (404). */
export type Revocation = 'revoked' | 'gone' | 'last'

/** Every function throws an InstanceError if the instance does not do what was requested. */
export interface IngestTokens {
  /** As configured. Identifies the instance. */
  readonly url: string
  create(name: string): Promise<CreatedToken>
  list(): Promise<readonly ListedToken[]>
  revoke(id: string): Promise<Revocation>
  /** True: telemetry without a valid token is dropped. */
  enforcement(): Promise<boolean>
  /** Takes effect immediately. Answers the new state. */
  setEnforcement(enabled: boolean): Promise<boolean>
  close(): Promise<void>
}
