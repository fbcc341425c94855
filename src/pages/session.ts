// Sessions of people who logged in: a signed cookie, and tokens that prove a form to be ours. Nothing is stored.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Millis } from '../model/instant.ts'
import type { Secret } from '../lib/secret.ts'

export const sessionCookie = 'pipespan_session'
/** A working day and a bit, ms. */
export const sessionLife = 12 * 3_600_000

export interface Session {
  readonly nonce: string
  readonly expiresAt: Millis
}

/** Keys are made from the admin token: a new token ends every session, and replicas know each other's. */
function signature(token: Secret, purpose: 'session' | 'form', text: string): string {
  const key = createHmac('sha256', token.reveal()).update(`pipespan ${purpose}`).digest()
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** The cookie's value. */
export function newSession(token: Secret, now: Millis): string {
  const text = `${now + sessionLife}.${randomBytes(16).toString('base64url')}`
  return `${text}.${signature(token, 'session', text)}`
}

/** Undefined for a cookie that is forged, damaged or too old. */
export function readSession(token: Secret, value: string | undefined, now: Millis): Session | undefined {
  const [, expires, nonce, mac] = /^(\d{13})\.([\w-]{22})\.([\w-]{43})$/.exec(value ?? '') ?? []
  if (expires === undefined || nonce === undefined || mac === undefined) return undefined
  if (!sameText(mac, signature(token, 'session', `${expires}.${nonce}`))) return undefined
  const expiresAt = Number(expires)
  return expiresAt > now ? { nonce, expiresAt } : undefined
}

/** Stands in every form of a session, where no other site can read it. */
export function formToken(key: Secret, nonce: string): string {
  return signature(key, 'form', nonce)
}

export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** The value of a cookie by its name (RFC 6265, 4.2.1). */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [key, value] = pair.split('=', 2)
    if (key?.trim() === name) return value?.trim()
  }
  return undefined
}
