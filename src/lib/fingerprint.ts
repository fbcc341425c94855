// Computes a token's fingerprint, which identifies the token in journals, reports and tables without revealing its value.
import { createHash } from 'node:crypto'
import type { Secret } from './secret.ts'

/** The first 12 hex digits of the value's SHA-256. */
export function fingerprintOf(token: Secret): string {
  return createHash('sha256').update(token.reveal()).digest('hex').slice(0, 12)
}
