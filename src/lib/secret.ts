// A secret value: it prints as [secret], and can be read only by an explicit call. This file also redacts secrets: all text from a server or a
// payload passes through it before it is logged, shown or stored. Each secret that this process has ever held is removed from the text, however it is
// encoded. Every `Secret` registers itself, so that none is missed. A replaced secret stays registered.
import { hash, timingSafeEqual, createHash } from 'node:crypto'
import { inspect } from 'node:util'
import { decodingsOf, withoutSpace } from './decoded-views.ts'
import { unfolded } from './unfolded-text.ts'

export class Secret {
  readonly #value: string
  #digest: Buffer | undefined

  constructor(value: string) {
    this.#value = value
    registerSecret(value)
  }

  /** Returns the secret value itself, for code that sends or compares it. */
  reveal(): string {
    return this.#value
  }

  /** Compares the secret with a candidate in constant time, whatever the candidate's length and content. */
  equals(candidate: string): boolean {
    this.#digest ??= digest(this.#value)
    return timingSafeEqual(this.#digest, digest(candidate))
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [inspect.custom](): string {
    return '[secret]'
  }
}

function digest(value: string): Buffer {
  return hash('sha256', value, 'buffer')
}

/** The minimum length of a secret that is redacted. Shorter values are not secrets, and often occur in ordinary text. */
const minLength = 6
/**
 * The maximum number of registered secrets, enough for six weeks of a token that is replaced every hour. Beyond it, the least recently used secret is
 * dropped.
 */
const maxSecrets = 1_000

/** The strings to search for, keyed by the secret's value. The least recently used secret comes first. */
const known = new Map<string, readonly string[]>()

/**
 * Replaces text that contains an encoded secret. The whole text is replaced, because the exact position of the secret in the encoding is not
 * computed.
 */
const withheld = '(left out as a whole, because it contains an encoded [secret])'

/** Registers a value that `redact` removes from now on. */
export function registerSecret(value: string): void {
  const needles = known.get(value) ?? formsOf(value)
  if (needles.length === 0) return
  known.delete(value)
  known.set(value, needles)
  for (const oldest of known.keys()) {
    if (known.size <= maxSecrets) return
    known.delete(oldest)
  }
}

/**
 * Replaces every known secret, and every secret in `also`, with `[secret]`. Text that contains an encoded secret is replaced as a whole. Only the
 * first `maxLength` characters are read and returned, because text may have been crafted to keep the daemon busy.
 */
export function redact(text: string, also: readonly string[] = [], maxLength = 8_192): string {
  if (text === '') return text
  const isCut = text.length > maxLength
  let clean = isCut ? text.slice(0, maxLength).replace(brokenEscape, '') : text
  for (const secret of also)
    if (secret !== '' && secret.length < minLength) clean = clean.replaceAll(secret, '[secret]')
  const needles = [...known.values(), ...also.map(formsOf)].flat()
  if (needles.length === 0) return clean
  const shown = withoutPlain(clean, needles, isCut)
  const isIn = (haystack: string): boolean =>
    needles.some(needle => placesOf(needle, haystack, isCut).next().done === false)
  // Escape sequences are removed first, because a colour code or a zero-width character may be inside a secret.
  const unescaped = unfolded(shown)?.text
  if (unescaped !== undefined && isIn(folded(Buffer.from(unescaped)))) return withheld
  for (const decoding of decodingsOf(withoutSpace(Buffer.from(shown).toString('latin1'))))
    if (isIn(decoding.toLowerCase())) return withheld
  return shown
}

/** Replaces unencoded secrets with `[secret]`, in any letter case, with or without white space within them. */
function withoutPlain(text: string, needles: readonly string[], isCut: boolean): string {
  const bytes = Buffer.from(text)
  const kept = [...bytes.keys()].filter(at => (bytes[at] ?? 0) > 0x20)
  const haystack = folded(bytes)
  const hidden = new Uint8Array(bytes.length)
  for (const needle of needles) {
    for (const [from, to] of placesOf(needle, haystack, isCut)) hidden.fill(1, kept[from], (kept[to - 1] ?? 0) + 1)
  }
  return hidden.includes(1) ? withoutHidden(bytes, hidden) : text
}

/** Matches an escape whose end was cut off. */
const brokenEscape = /(?:%[0-9a-f]{0,3}|\\[\w{]{0,8}|&[#\w]{0,8})$/i

/**
 * Yields the positions of a secret. If the string was cut, the secret at its end may be cut off too, so a beginning of the secret also counts there.
 */
function* placesOf(needle: string, haystack: string, isCut: boolean): Generator<readonly [from: number, to: number]> {
  for (let at = haystack.indexOf(needle); at !== -1; at = haystack.indexOf(needle, at + 1))
    yield [at, at + needle.length]
  if (!isCut) return
  const beginning = needle.slice(0, minLength)
  const from = Math.max(0, haystack.length - needle.length)
  for (let at = haystack.indexOf(beginning, from); at !== -1; at = haystack.indexOf(beginning, at + 1)) {
    if (needle.startsWith(haystack.slice(at))) yield [at, haystack.length]
  }
}

function withoutHidden(bytes: Buffer, hidden: Uint8Array): string {
  const parts: string[] = []
  for (let at = 0; at < bytes.length;) {
    const isHidden = hidden[at] === 1
    const end = hidden.indexOf(isHidden ? 0 : 1, at)
    const next = end === -1 ? bytes.length : end
    parts.push(isHidden ? '[secret]' : bytes.toString('utf8', at, next))
    at = next
  }
  return parts.join('')
}

/**
 * Returns the parts of a value that must be redacted. For `https://user:password@host`, these are `user:password`, and the password alone. For any
 * other value, these are the value, the string after the scheme of an authorization header, both parts of basic authentication, and the key of a
 * signing token.
 */
function formsOf(value: string): string[] {
  const parts = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? partsOfAddress(value) : partsOf(value)
  return parts.map(part => folded(Buffer.from(part))).filter(form => form.length >= minLength)
}

function partsOfAddress(value: string): string[] {
  const [, pair = '', password = ''] = /\/\/([^/?#:@]*:([^/?#]*))@/.exec(value) ?? []
  return [pair, decoded(pair), password, decoded(password)]
}

function partsOf(value: string): (string | Buffer)[] {
  const [, scheme = '', rest] = /^([a-z]+) +(\S.*)$/is.exec(value) ?? []
  const pair = scheme.toLowerCase() === 'basic' ? Buffer.from(rest ?? '', 'base64').toString() : ''
  const key = /^whsec_(.+)$/s.exec(value)?.[1] ?? ''
  return [value, rest ?? '', pair, pair.slice(pair.indexOf(':') + 1), key, Buffer.from(key, 'base64')]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Returns the bytes as text in lower case, without white space, because a server may repeat a secret in another case. Each character represents one
 * byte.
 */
function folded(bytes: Buffer): string {
  return withoutSpace(bytes.toString('latin1')).toLowerCase()
}

// Computes a token's fingerprint, which identifies the token in logs, reports and tables without revealing its value.
/** Returns the first 12 hex digits of the SHA-256 of the token. */
export function fingerprintOf(token: Secret): string {
  return createHash('sha256').update(token.reveal()).digest('hex').slice(0, 12)
}
