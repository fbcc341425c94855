// Checks that the sender of a delivery knows the secret, by its token or its signature (Standard Webhooks 1.0.0).
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../../lib/secret.ts'
import type { DeliveryHeaders, Headers } from '../../platform/port/webhook.ts'

/** The secrets of a sender. Several tokens and several signing secrets can be valid at once, so that a secret can be rotated without downtime. */
export interface WebhookSecrets {
  readonly tokens: readonly Secret[]
  /** The signing secrets, each with the form `whsec_…`. */
  readonly signing: readonly Secret[]
}

/** A platform that may send deliveries, identified by the secrets that it shares with this daemon. */
export interface Sender {
  readonly secrets: WebhookSecrets
  readonly requireSignature: boolean
  /** The instance of the platform, if several platforms are configured. A delivery that one of these secrets verifies belongs to that instance. */
  readonly instance?: string | undefined
}

export type SecretFault = 'token' | 'signature' | 'timestamp'

/**
 * The decision that can be made from the headers of a delivery. `verify`: the signature covers the body, so the body must be read first.
 * `showsToken`: the delivery also has the right token, so its body does not count as one from an unauthenticated sender.
 */
export type Admission =
  | { readonly admitted: 'by token' | 'without secret'; readonly sender: Sender }
  /** Returns the sender whose secret matches the signature; undefined if no sender's secret does. */
  | { readonly verify: (body: Buffer) => Sender | undefined; readonly showsToken: boolean }
  | { readonly refused: SecretFault }

/** The maximum difference in seconds between a signature's timestamp and this machine's clock. The Standard Webhooks library uses the same limit. */
const signatureWindow = 300

/** Matches headers in which at least one signature has the form of a base64 HMAC-SHA256. If none has, the body need not be read. */
const signatureShape = /(?:^| )v1,[A-Za-z0-9+/]{43}=(?: |$)/

/**
 * Admits a delivery for the sender whose secret it shows. The secrets of all senders are compared, even after a match, so that the duration does not
 * reveal which secrets exist.
 */
export function admit(
  headers: Headers,
  senders: readonly Sender[],
  reads: Pick<DeliveryHeaders, 'token'>,
  now: number,
): Admission {
  const all = senders.map(sender => admitFrom(headers, sender, reads, now))
  const admitted = all.find(one => 'admitted' in one)
  if (admitted !== undefined) return admitted
  const signed = all.filter(one => 'verify' in one)
  if (signed.length > 0) {
    return {
      verify: body => signed.map(one => one.verify(body)).find(sender => sender !== undefined),
      showsToken: signed.some(({ showsToken }) => showsToken),
    }
  }
  const refused = all.flatMap(one => ('refused' in one ? one.refused : []))
  return { refused: faults.find(fault => refused.includes(fault)) ?? 'token' }
}

/** The reasons for rejecting a delivery's credentials, most specific first. */
const faults: readonly SecretFault[] = ['timestamp', 'token', 'signature']

/**
 * The rules for admitting a delivery, in order:
 * - If no secret is configured, every delivery is admitted. (The daemon allows that on loopback addresses only.)
 * - If there is a signature, it alone decides, whatever the token is: a wrong signature is a forgery or was made with a wrong secret, and both must
 *   be noticed. If the delivery also has the right token, this only gives its body more room (decision 122).
 * - Exception: if no signing secret is configured here, the token decides, because it is the secret that both sides share.
 * - Without a signature the token decides, unless a signature is required.
 * `now` is the Unix time in ms.
 */
function admitFrom(headers: Headers, sender: Sender, reads: Pick<DeliveryHeaders, 'token'>, now: number): Admission {
  const { requireSignature } = sender
  const { tokens, signing } = sender.secrets
  if (tokens.length === 0 && signing.length === 0 && !requireSignature) return { admitted: 'without secret', sender }
  const token = reads.token(headers)
  const showsToken = token !== undefined && isOneOf(tokens, token)
  if (headers['webhook-signature'] !== undefined && signing.length > 0) {
    const found = signatureOf(headers, signing, now)
    if ('refused' in found) return found
    return { verify: body => (found.verify(body) ? sender : undefined), showsToken }
  }
  if (requireSignature || tokens.length === 0) return { refused: 'signature' }
  return showsToken ? { admitted: 'by token', sender } : { refused: 'token' }
}

/** Whether the headers show the right token, with or without a signature. It is also true if no secret is configured. */
export function isProven(admission: Admission): boolean {
  return 'verify' in admission ? admission.showsToken : 'admitted' in admission
}

/** Compares the header with all tokens, even after a match, so that the timing reveals nothing. */
function isOneOf(tokens: readonly Secret[], header: string): boolean {
  // Node decodes header bytes as Latin-1, but senders encode a token with non-ASCII characters as UTF-8.
  const candidate = Buffer.from(header, 'latin1').toString()
  return tokens.reduce((found, token) => token.equals(candidate) || found, false)
}

/** Rejects a signature that is wrong according to the headers alone. All other checks need the body. */
function signatureOf(
  headers: Headers,
  signing: readonly Secret[],
  now: number,
): { readonly verify: (body: Buffer) => boolean } | { readonly refused: SecretFault } {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers
  // "It's important that both the message id and the timestamp not […] include any `.`" (Signature scheme): the signed text is "id.timestamp.body",
  // and a full stop in the id could shift the boundaries between the three.
  if (typeof id !== 'string' || id === '' || id.includes('.')) return { refused: 'signature' }
  if (typeof signature !== 'string' || !signatureShape.test(signature)) return { refused: 'signature' }
  if (typeof timestamp !== 'string' || !/^[1-9]\d{0,11}$/.test(timestamp)) return { refused: 'timestamp' }
  if (Math.abs(Math.floor(now / 1000) - Number(timestamp)) > signatureWindow) return { refused: 'timestamp' }
  return { verify: body => signing.some(secret => isSignedWith(secret, `${id}.${timestamp}.`, body, signature)) }
}

/** Uses Node's HMAC over the raw bytes. For 25 MiB it blocks the thread for 17 ms; the Standard Webhooks library blocks it for 289 ms. */
function isSignedWith(secret: Secret, head: string, body: Buffer, signatures: string): boolean {
  const key = keyOf(secret)
  if (key === undefined) return false
  // Each character of a header represents one byte.
  const expected = createHmac('sha256', key).update(head, 'latin1').update(body).digest('base64')
  return signatures.split(' ').some(one => one.startsWith('v1,') && isSame(one.slice(3), expected))
}

function isSame(signature: string, expected: string): boolean {
  return (
    signature.length === expected.length && timingSafeEqual(Buffer.from(signature, 'latin1'), Buffer.from(expected))
  )
}

/** Returns the key of a signing secret. It is undefined if the secret is empty or not base64; then no signature matches. */
function keyOf(secret: Secret): Buffer | undefined {
  const [, text = ''] = /^(?:whsec_)?([A-Za-z0-9+/]+={0,2})$/.exec(secret.reveal()) ?? []
  return text === '' ? undefined : Buffer.from(text, 'base64')
}
