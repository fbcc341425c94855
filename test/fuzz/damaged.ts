// Payloads whose bytes are damaged or oddly spelled: what still is JSON, and what is not any more.
import fc from 'fast-check'
import { mutated, type Mutated } from './mutations.ts'

export interface Damaged {
  readonly event: string
  readonly body: Uint8Array
}

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
const text = (value: string): Uint8Array => new TextEncoder().encode(value)

/** What is put somewhere into a body. */
const odd = fc.constantFrom(
  ...[
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    ' ',
    '\n',
    '\t',
    '0',
    '-',
    '.',
    'e',
    '+',
    'true',
    'null',
    'NaN',
    '{}',
  ].map(text),
  ...['\\u0000', '\\ud800', '\\u0041', '\\x', '\\u12', '1e400', '-0', '01', '\u2028', '\ufeff', '[[]]', '//', "'"].map(
    text,
  ),
  ...[
    '{"builds":[',
    '"jobs":7,',
    '"status":"failed",',
    '"id":1,',
    '"variables":[{"key":"A"}],',
    '"vari\\u0061bles":1,',
  ].map(text),
  ...[bytes(0), bytes(0x1f), bytes(0x7f), bytes(0xff), bytes(0xc3), bytes(0xed, 0xa0, 0x80), bytes(0xf0, 0x9f, 0x98)],
)

interface Damage {
  readonly at: number
  readonly cut: number
  readonly put: Uint8Array
}

const damage: fc.Arbitrary<Damage> = fc.record({
  at: fc.nat(),
  cut: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(12) }),
  put: fc.oneof({ weight: 5, arbitrary: odd }, { weight: 1, arbitrary: fc.constant(bytes()) }),
})

function damagedBy(body: Uint8Array, { at, cut, put }: Damage): Uint8Array {
  const from = at % (body.length + 1)
  return Buffer.concat([body.subarray(0, from), put, body.subarray(from + cut)])
}

/** Each seventh letter within its strings as an escape, which changes nothing. */
function escaped(body: string): string {
  return body.replace(/"(?:[^"\\]|\\.)*"/g, text => {
    let letters = 0
    return text.replace(/\\.|[a-z_]/gi, letter => {
      letters += 1
      if (letters % 7 !== 0 || letter.length > 1) return letter
      return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
    })
  })
}

/** With a large field that nobody reads, as its first one. */
function stuffed(body: string): string {
  return body.replace(/^\{(?!\})/, `{"odd":${JSON.stringify(stuffing)},`)
}
const stuffing = [
  [[], {}, [[{ a: [null, 'ü', '\ud83d\ude00'] }]]],
  { status: 'x', builds: [{ id: 9 }] },
  1e300,
  -0,
  '\\"',
]

/** A payload with fields made wrong, then spelled oddly or with up to three of its bytes damaged. */
export const damaged: fc.Arbitrary<Damaged> = fc
  .tuple(mutated, fc.constantFrom('plain', 'mark', 'spaced', 'escaped', 'stuffed'), fc.array(damage, { maxLength: 3 }))
  .map(([{ event, body }, spelling, damages]) => {
    const whole = Buffer.from(spelled({ event, body }, spelling))
    return { event, body: damages.reduce<Uint8Array>(damagedBy, whole) }
  })

function spelled({ body }: Mutated, spelling: 'plain' | 'mark' | 'spaced' | 'escaped' | 'stuffed'): string {
  switch (spelling) {
    case 'plain':
      return body
    case 'mark':
      return `\ufeff ${body}\r\n`
    case 'spaced':
      return JSON.stringify(JSON.parse(body), undefined, ' \t')
    case 'escaped':
      return escaped(body)
    case 'stuffed':
      return stuffed(body)
  }
}
