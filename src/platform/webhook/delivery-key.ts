// The key by which a repeated delivery is recognised.
import { createHash } from 'node:crypto'
import type { Headers } from '../port/webhook.ts'

/** `sent`: the headers as they came. `signed`: the signature that covers `webhook-id` was verified. */
type KeyProof = 'sent' | 'signed'

const namesOf: Readonly<Record<KeyProof, readonly string[]>> = {
  sent: ['idempotency-key', 'webhook-id'],
  signed: ['webhook-id'],
}

/**
 * `Idempotency-Key`, else `webhook-id` (the platform gives both the same value); undefined if the sender gave neither. Of a signed delivery only
 * `webhook-id`, which the signature covers: otherwise an attacker could repeat a captured delivery under another key. Long or odd keys are hashed, as
 * they are only compared. `instance`: of the verified sender, if there are several platforms: their keys are apart.
 */
export function deliveryKey(headers: Headers, proof: KeyProof, instance?: string): string | undefined {
  for (const name of namesOf[proof]) {
    const key = headers[name]
    if (typeof key !== 'string' || key.trim() === '') continue
    if (instance !== undefined) return hashed(`${instance}\n${key}`)
    return /^[\x21-\x7e]{1,128}$/.test(key) ? key : hashed(key)
  }
  return undefined
}

function hashed(key: string): string {
  return `sha256:${createHash('sha256').update(key).digest('hex')}`
}
