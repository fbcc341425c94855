// The one place that words of others pass before they are logged, shown or stored: whatever secret this process has ever held is taken out
// of them, however it is encoded. Secrets make themselves known (`secret.ts`), so that none is forgotten, and one that was replaced stays known.
import { viewsOf } from './decoded-views.ts'

/** What is shorter is no secret, and stands in many words. */
const shortest = 6
/** So many are remembered, the latest of them: of a token that is replaced every hour those of six weeks. */
const mostKnown = 1_000

/** By their value; in the order in which they were last used. */
const known = new Map<string, readonly Buffer[]>()

/** From now on no words may hold this value. */
export function keepOut(value: string): void {
  const needles = known.get(value) ?? formsOf(value)
  if (needles.length === 0) return
  known.delete(value)
  known.set(value, needles)
  for (const oldest of known.keys()) {
    if (known.size <= mostKnown) return
    known.delete(oldest)
  }
}

/**
 * The text with `[secret]` for every known secret in it, and for those of `also`, in whatever encoding. No more than its first `longest`
 * characters are read and returned: they may have been written to keep this busy.
 */
export function redact(text: string, also: readonly string[] = [], longest = 8_192): string {
  if (text === '') return text
  const isCut = text.length > longest
  let clean = isCut ? text.slice(0, longest).replace(brokenEscape, '') : text
  for (const secret of also) if (secret !== '' && secret.length < shortest) clean = clean.replaceAll(secret, '[secret]')
  const needles = [...known.values(), ...also.map(formsOf)].flat()
  if (needles.length === 0) return clean
  const bytes = Buffer.from(clean)
  const hidden = new Uint8Array(bytes.length)
  for (const { bytes: seen, begins, ends } of viewsOf(bytes)) {
    const haystack = folded(seen)
    for (const needle of needles) {
      for (const [from, to] of placesOf(needle, haystack, isCut)) hidden.fill(1, begins[from], ends[to - 1])
    }
  }
  return hidden.includes(1) ? withoutHidden(bytes, hidden) : clean
}

/** One line of what others said, redacted, at most `longest` characters of it; undefined when nothing is left. */
export function briefly(text: string, longest: number, also: readonly string[] = []): string | undefined {
  const line = text.slice(0, mostSaid).replace(/[\s\p{Cc}]+/gu, ' ')
  const clean = redact(line, also, mostRead).trim()
  if (clean === '') return undefined
  return clean.length > longest ? `${clean.slice(0, longest)}…` : clean
}

/** Characters that are looked at of what others said, and that are read of it in every way it may be encoded. */
const [mostSaid, mostRead] = [65_536, 2_048]

/** An escape of which the end was cut off. */
const brokenEscape = /(?:%[0-9a-f]{0,3}|\\[\w{]{0,8}|&[#\w]{0,8})$/i

/** Where it stands; of a text that was cut also where it begins and goes on to the end. */
function* placesOf(needle: Buffer, haystack: Buffer, isCut: boolean): Generator<readonly [from: number, to: number]> {
  for (let at = haystack.indexOf(needle); at !== -1; at = haystack.indexOf(needle, at + 1))
    yield [at, at + needle.length]
  if (!isCut) return
  const beginning = needle.subarray(0, shortest)
  const from = Math.max(0, haystack.length - needle.length)
  for (let at = haystack.indexOf(beginning, from); at !== -1; at = haystack.indexOf(beginning, at + 1)) {
    if (needle.subarray(0, haystack.length - at).equals(haystack.subarray(at))) yield [at, haystack.length]
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
 * What of a value must not be seen. Of an address: user and password, and the password alone. Of anything else: itself,
 * what follows the scheme in a header's value, both parts of basic authentication, and the key of a signing token.
 */
function formsOf(value: string): Buffer[] {
  const forms = (/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? partsOfAddress(value) : partsOf(value)).map(form =>
    Buffer.from(form),
  )
  return forms.map(form => folded(form.filter(byte => byte > 0x20))).filter(form => form.length >= shortest)
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

/** Capital letters as small ones: some write everything in one case. */
function folded(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.map(byte => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte)))
}
