// Tests that secrets are redacted in external text, in any encoding.
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { briefly } from '../../src/lib/text-redaction.ts'
import { redact, Secret } from '../../src/lib/secret.ts'
import { runs } from '../full.ts'

/** The encodings that a backend, a proxy or a framework may apply to text that it repeats. */
const encodings: Readonly<Record<string, (text: string) => string>> = {
  'as it is': text => text,
  'in capitals': text => text.toUpperCase(),
  'percent-encoded': text => encodeURIComponent(text),
  'percent-encoded in small letters, every byte': text => everyByte(text, hex => `%${hex}`),
  'of a form': text => new URLSearchParams({ a: text }).toString().slice(2),
  'in base64': text => Buffer.from(text).toString('base64'),
  'in base64 for addresses': text => Buffer.from(text).toString('base64url'),
  'in base64 behind a user': text => Buffer.from(`user:${text}`).toString('base64'),
  'in base64 behind another user': text => Buffer.from(`ada:${text} and more`).toString('base64'),
  'in base64 behind a third one': text => Buffer.from(`so:${text}`).toString('base64'),
  'in base64, broken into lines': text => lines(Buffer.from(`name: ${text}`).toString('base64')),
  'in hex': text => Buffer.from(text).toString('hex'),
  'in hex with capitals': text => Buffer.from(text).toString('hex').toUpperCase(),
  'as JSON': text => JSON.stringify(text),
  'as JSON with every character escaped': text =>
    Array.from(text, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  'as escaped bytes': text => everyByte(text, hex => `\\x${hex}`),
  'as HTML': text => text.replace(/[&<>"']/g, one => `&#${one.charCodeAt(0)};`),
  'as HTML with every character escaped': text =>
    Array.from(text, one => `&#x${one.charCodeAt(0).toString(16)};`).join(''),
  'as HTML with names': text =>
    text.replace(/[&<>"]/g, one => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[one] ?? one),
  'broken into lines': lines,
}

/** The encodings in which the rest of the text is kept. If a secret is encoded in any other way, the whole text is dropped. */
const plain = ['as it is', 'in capitals', 'broken into lines']

function everyByte(text: string, write: (hex: string) => string): string {
  return [...Buffer.from(text)].map(byte => write(byte.toString(16).padStart(2, '0'))).join('')
}

function lines(text: string): string {
  return text.replace(/.{5}/gs, '$&\r\n ')
}

const secretText = fc
  .string({ unit: 'grapheme-ascii', minLength: 10, maxLength: 90 })
  .filter(text => text.trim() === text && text.replaceAll(' ', '').length >= 8 && !/^\w+:\/\//.test(text))

let salt = 0
afterEach(() => (salt += 1))

describe('an external message', () => {
  it.each(Object.keys(encodings))('redacts a secret that a message contains %s', name => {
    const encode = encodings[name]!
    fc.assert(
      fc.property(secretText, text => {
        new Secret(text)
        // The marks « and » cannot be part of a generated secret. Without them, a secret from an earlier example, which is still redacted, could
        // match across the edge of this one.
        const words = redact(`{"error": "not allowed: «${encode(text)}»; try again"}`)
        expect(words).toContain('[secret]')
        expect(recovered(words, text)).toBe(false)
        if (plain.includes(name)) expect(words).toMatch(/^\{"error": "not allowed: «\[secret\]\s*»; try again"\}$/)
      }),
      { numRuns: 25 },
    )
  })

  it('redacts a doubly encoded secret', () => {
    fc.assert(
      fc.property(
        secretText,
        fc.constantFrom(...Object.values(encodings)),
        fc.constantFrom(...Object.values(encodings)),
        (text, inner, outer) => {
          // Base64 that was upper-cased is skipped, because the secret cannot be recovered from it.
          fc.pre(!(outer === encodings['in capitals'] && inner !== outer && inner !== encodings['as it is']))
          new Secret(text)
          const words = redact(`before ${outer(inner(text))} behind`)
          expect(words).toContain('[secret]')
        },
      ),
      runs(120),
    )
  })

  it('leaves a message unchanged if it contains no secret', () => {
    new Secret(`a-secret-that-nobody-repeats-${salt}`)
    const words = 'ünïcode, 100 %, a&b, \\server\\share, deadbeefdeadbeef, QmFzZTY0IG9mIG5vdGhpbmc=\n'
    expect(redact(words)).toBe(words)
  })
})

describe('a truncated message', () => {
  it('shows no prefix of a secret where a message is truncated, in any encoding of the secret', () => {
    const token = `long-lived-${'0123456789abcdef'.repeat(200)}`
    new Secret(token)
    for (const [name, encode] of Object.entries(encodings)) {
      for (const before of [0, 1, 2, 3, 100]) {
        const words = briefly(`${'x'.repeat(before)} ${encode(token)}`, 300) ?? ''
        expect([name, words]).toEqual([name, expect.stringContaining('[secret]')])
        expect([name, recovered(words, 'long-lived-0123')]).toEqual([name, false])
      }
    }
  })

  it('shortens any message to one line quickly', () => {
    expect(briefly('out of\r\n \u0000 order\n', 300)).toBe('out of order')
    expect(briefly('-'.repeat(1_000_000), 300)).toBe(`${'-'.repeat(300)}…`)
    expect(briefly(' \n ', 300)).toBeUndefined()
  })
})

describe('a known secret', () => {
  it('still redacts a secret after a newer one has replaced it', () => {
    new Secret('the-token-of-yesterday')
    new Secret('the-token-of-today')
    expect(redact('was the-token-of-yesterday, is the-token-of-today')).toBe('was [secret], is [secret]')
    expect(redact('was dGhlLXRva2VuLW9mLXllc3RlcmRheQ')).toBe(
      '(left out as a whole, because it contains an encoded [secret])',
    )
  })

  it.each([
    ['Bearer the-rest-of-a-header', 'the-rest-of-a-header'],
    [`Basic ${Buffer.from('someone:their-password').toString('base64')}`, 'their-password'],
    ['postgres://daemon:p%40ssw%2Frd@db.example/pipespan', 'p@ssw/rd'],
    ['http://someone:proxy-pass@proxy.example:3128', 'proxy-pass'],
    ['whsec_c2lnbmluZy1rZXktb2YtYS1ob29r', 'signing-key-of-a-hook'],
  ])('redacts the secret %s even if only its secret part appears', (value, part) => {
    new Secret(value)
    for (const encode of Object.values(encodings)) expect(redact(`x ${encode(part)} y`)).toContain('[secret]')
  })

  it('redacts a secret in a URL without hiding the rest of the URL', () => {
    new Secret('http://open-proxy.example:3128')
    new Secret('postgres://reader:another-pass@shown.example/db')
    const words = 'connect ECONNREFUSED http://open-proxy.example:3128 for shown.example/db as reader'
    expect(redact(words)).toBe(words)
  })

  it('does not redact a five-character secret, because many words contain the same characters', () => {
    new Secret('state')
    expect(redact('in this state')).toBe('in this state')
  })
})

/** Whether the secret can still be recovered from the text with the decoders of common tools. */
function recovered(words: string, secret: string): boolean {
  const readings = [
    words,
    words.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    ...(words.match(/[\w+/-]{8,}/g) ?? []).flatMap(run =>
      [0, 1, 2, 3].map(at => Buffer.from(run.slice(at), 'base64').toString('latin1')),
    ),
    ...(words.match(/[0-9a-f]{8,}/gi) ?? []).map(run => Buffer.from(run, 'hex').toString('latin1')),
  ]
  return readings.some(reading => reading.toLowerCase().includes(secret.toLowerCase()))
}
