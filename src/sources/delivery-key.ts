// The key by which a delivery heard twice is known.
import { createHash } from 'node:crypto'
import type { Headers } from '../platform/profile.ts'

/**
 * `Idempotency-Key`, else `webhook-id` (the platform gives both the same value); undefined when the sender gave neither.
 * Long or odd ones are hashed: the store keeps a key for days, and a key is only ever compared.
 */
export function deliveryKey(headers: Headers): string | undefined {
  for (const name of ['idempotency-key', 'webhook-id']) {
    const key = headers[name]
    if (typeof key !== 'string' || key.trim() === '') continue
    return /^[\x21-\x7e]{1,128}$/.test(key) ? key : `sha256:${createHash('sha256').update(key).digest('hex')}`
  }
  return undefined
}
