// A text as it reads once it is decoded, in every way and order that somebody may have encoded it: percent signs, backslashes, HTML, hex,
// base64 from any place on. Each byte of a view knows where in the text it stands, so that what is found in one can be taken out there.

/** Bytes, and for each where in the original it begins and ends. */
export interface View {
  readonly bytes: Buffer
  readonly begins: Uint32Array
  readonly ends: Uint32Array
}

/** Encodings within each other that are undone. */
const deepest = 3

/** The text itself and all its readings. White space is left out everywhere: what is broken into lines is found too. */
export function* viewsOf(text: Uint8Array): Generator<View> {
  const bytes = Buffer.from(text)
  const begins = Uint32Array.from(bytes, (_, at) => at)
  yield* readings(squeezed({ bytes, begins, ends: begins.map(at => at + 1) }), deepest)
}

function* readings(view: View, depth: number): Generator<View> {
  yield view
  if (depth === 0) return
  for (const decode of decoders) {
    const decoded = decode(view)
    if (decoded !== undefined) yield* readings(squeezed(decoded), depth - 1)
  }
}

/** Undefined: there is nothing to decode. */
type Decoder = (view: View) => View | undefined

/** One escape: what it looks like, and the bytes that it stands for. */
interface Escape {
  readonly pattern: RegExp
  readonly meaning: (found: readonly string[]) => Uint8Array
}

const hexByte = /%([0-9a-f]{2})/gi
/** As forms are sent. */
const hexByteOrBlank = /%([0-9a-f]{2})|\+/gi
const backslash = /\\(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2})|(.))/gi
const entity = /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos|nbsp|sol|plus|equals|colon|comma|period));?/gi
const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  sol: '/',
  plus: '+',
  equals: '=',
  colon: ':',
  comma: ',',
  period: '.',
}
const shorthands: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

const escapes: readonly Escape[] = [
  { pattern: hexByte, meaning: ([, hex = '']) => Buffer.from(hex, 'hex') },
  { pattern: hexByteOrBlank, meaning: ([, hex]) => (hex === undefined ? Buffer.from(' ') : Buffer.from(hex, 'hex')) },
  {
    pattern: backslash,
    meaning: ([, braced, four, two, letter = '']) =>
      braced === undefined && four === undefined && two === undefined
        ? Buffer.from(shorthands[letter] ?? letter, 'latin1')
        : character(Number.parseInt(braced ?? four ?? two ?? '', 16)),
  },
  {
    pattern: entity,
    meaning: ([, hex, decimal, name = '']) =>
      hex === undefined && decimal === undefined
        ? Buffer.from(entities[name.toLowerCase()] ?? '')
        : character(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)),
  },
]

function character(code: number): Uint8Array {
  return Buffer.from(code > 0x10ffff ? '' : String.fromCodePoint(code))
}

/** Stretches of an alphabet, of which `size` characters are `bytes` bytes, read from each of the first `size` on. */
interface Alphabet {
  readonly pattern: RegExp
  readonly size: number
  readonly bytes: number
  readonly encoding: 'hex' | 'base64'
}

const alphabets: readonly Alphabet[] = [
  { pattern: /[0-9a-f]{12,}/gi, size: 2, bytes: 1, encoding: 'hex' },
  // Both that of addresses and the usual one.
  { pattern: /[\w+/-]{8,}/g, size: 4, bytes: 3, encoding: 'base64' },
]

const decoders: readonly Decoder[] = [
  ...escapes.map(unescaping),
  ...alphabets.flatMap(alphabet => Array.from({ length: alphabet.size }, (_, from) => reading(alphabet, from))),
]

function unescaping({ pattern, meaning }: Escape): Decoder {
  return view => {
    const text = view.bytes.toString('latin1')
    const decoded = new Decoded(view)
    let done = 0
    for (const found of text.matchAll(pattern)) {
      decoded.keep(done, found.index)
      done = found.index + found[0].length
      for (const byte of meaning(found)) decoded.add(byte, found.index, done)
    }
    if (done === 0) return undefined
    decoded.keep(done, text.length)
    return decoded.view()
  }
}

function reading({ pattern, size, bytes, encoding }: Alphabet, from: number): Decoder {
  return view => {
    const text = view.bytes.toString('latin1')
    const decoded = new Decoded(view)
    for (const { 0: stretch, index } of text.matchAll(pattern)) {
      // Two stretches are not one.
      decoded.add(0xff, index, index)
      const read = Buffer.from(stretch.slice(from), encoding)
      for (const [at, byte] of read.entries()) {
        const first = index + from + Math.floor((at * size) / bytes)
        decoded.add(byte, first, index + from + Math.ceil(((at + 1) * size) / bytes))
      }
    }
    return decoded.isEmpty ? undefined : decoded.view()
  }
}

/** A view that is being made of another one. */
class Decoded {
  readonly #of: View
  readonly #bytes: number[] = []
  readonly #begins: number[] = []
  readonly #ends: number[] = []

  constructor(of: View) {
    this.#of = of
  }

  get isEmpty(): boolean {
    return this.#bytes.length === 0
  }

  /** A byte that stands for those from `from` to `to` of the other view. */
  add(byte: number, from: number, to: number): void {
    this.#bytes.push(byte)
    this.#begins.push(this.#of.begins[from] ?? 0)
    this.#ends.push(this.#of.ends[to - 1] ?? 0)
  }

  keep(from: number, to: number): void {
    for (let at = from; at < to; at += 1) this.add(this.#of.bytes[at] ?? 0, at, at + 1)
  }

  view(): View {
    return {
      bytes: Buffer.from(this.#bytes),
      begins: Uint32Array.from(this.#begins),
      ends: Uint32Array.from(this.#ends),
    }
  }
}

/** Without white space and control characters. */
function squeezed(view: View): View {
  const kept = [...view.bytes.keys()].filter(at => (view.bytes[at] ?? 0) > 0x20)
  if (kept.length === view.bytes.length) return view
  return {
    bytes: Buffer.from(kept.map(at => view.bytes[at] ?? 0)),
    begins: Uint32Array.from(kept, at => view.begins[at] ?? 0),
    ends: Uint32Array.from(kept, at => view.ends[at] ?? 0),
  }
}
