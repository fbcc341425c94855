// Parses webhook bodies for tests: the recorded bodies in test/fixtures/webhooks, and bodies that a test makes up.
import { readFileSync } from 'node:fs'
import { parseDelivery, type Delivery, type ParseOptions } from '../../../src/platform/webhook/parse-delivery.ts'
import { profiles } from '../../../src/daemon/profile.ts'

export const folder = new URL('../../fixtures/webhooks/', import.meta.url)
export const bytesOf = (name: string) => readFileSync(new URL(`${name}.json`, folder))
export const jsonOf = (name: string) => JSON.parse(bytesOf(name).toString()) as Record<string, never>

export const plain: ParseOptions = { profile: profiles.generic, traceparent: false }

export function parse(body: unknown, delivery: Partial<Delivery> = {}, options = plain) {
  return parseDelivery({ body: Buffer.from(JSON.stringify(body)), ...delivery }, options)
}

/** Returns the observation in a body. Throws if the body contains none. */
export function observe(body: unknown, delivery: Partial<Delivery> = {}, options = plain) {
  const parsed = parse(body, delivery, options)
  if (parsed.outcome !== 'observation') throw new Error(JSON.stringify(parsed))
  return parsed.observation
}

/** Returns the reason why a body cannot be parsed. */
export function reasonOf(body: unknown, delivery: Partial<Delivery> = {}, options = plain): string {
  const parsed = parse(body, delivery, options)
  return parsed.outcome === 'unparseable' ? parsed.reason : `no failure: ${parsed.outcome}`
}
