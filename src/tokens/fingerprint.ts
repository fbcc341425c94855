// A token's fingerprint: enough to distinguish tokens in journals, reports and tables, and no way back to the value.
import { createHash } from 'node:crypto'
import type { Secret } from '../lib/secret.ts'

/** SHA-256 of the value, its first 12 hexadecimal digits. */
export function fingerprintOf(token: Secret): string {
  return createHash('sha256').update(token.reveal()).digest('hex').slice(0, 12)
}
