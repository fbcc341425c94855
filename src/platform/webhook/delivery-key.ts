// The key by which a delivery that is sent twice is known.
import { createHash } from 'node:crypto'
import type { Headers } from '../profile.ts'

/** `sent`: the headers as they came. `signed`: the signature that covers `webhook-id` was verified. */
export type KeyProof = 'sent' | 'signed'

const namesOf: Readonly<Record<KeyProof, readonly string[]>> = {
  sent: ['idempotency-key', 'webhook-id'],
  signed: ['webhook-id'],
}

/**
 * `Idempotency-Key`, else `webhook-id` (the platform gives both the same value); undefined when the sender gave neither. Under a
 * signature only what it covers: else who captured a delivery could send it again under a key of their own.
 * Long or odd ones are hashed: the store keeps a key for days, and a key is only ever compared.
 */
export function deliveryKey(headers: Headers, proof: KeyProof): string | undefined {
  for (const name of namesOf[proof]) {
    const key = headers[name]
    if (typeof key !== 'string' || key.trim() === '') continue
    return /^[\x21-\x7e]{1,128}$/.test(key) ? key : `sha256:${createHash('sha256').update(key).digest('hex')}`
  }
  return undefined
}
