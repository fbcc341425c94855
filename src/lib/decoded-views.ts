// All decodings of a text, so that a secret is found in it however it was encoded: percent, backslash and HTML escapes, hex, and base64 at
// any offset, nested in any order. Each decoded byte knows which bytes of the text it came from, so that those can be taken out.

/** Decoded bytes, and where in the original text each of them begins and ends. */
export interface View {
  readonly bytes: Buffer
  readonly begins: Uint32Array
  readonly ends: Uint32Array
}

/** How many nested encodings are undone: hex of base64 is two. */
const maxDepth = 3

/** The text itself and all its decodings, without white space, so that a secret broken into lines is found too. */
export function* viewsOf(text: Uint8Array): Generator<View> {
  const bytes = Buffer.from(text)
  const begins = Uint32Array.from(bytes, (_, at) => at)
  yield* decodings(withoutSpace({ bytes, begins, ends: begins.map(at => at + 1) }), maxDepth)
}

function* decodings(view: View, depth: number): Generator<View> {
  yield view
  if (depth === 0) return
  for (const decode of decoders) {
    const decoded = decode(view)
    if (decoded !== undefined) yield* decodings(withoutSpace(decoded), depth - 1)
  }
}

/** Undefined: there is nothing to decode. */
type Decoder = (view: View) => View | undefined

interface Escape {
  readonly pattern: RegExp
  /** The bytes that a match stands for. */
  readonly meaning: (found: readonly string[]) => Uint8Array
}

const hexByte = /%([0-9a-f]{2})/gi
/** As in HTML forms, where `+` is a space. */
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

/** `size` characters are `bytes` bytes. It is decoded from each of the first `size` offsets, as a secret may begin at any. */
interface Alphabet {
  readonly pattern: RegExp
  readonly size: number
  readonly bytes: number
  readonly encoding: 'hex' | 'base64'
}

const alphabets: readonly Alphabet[] = [
  { pattern: /[0-9a-f]{12,}/gi, size: 2, bytes: 1, encoding: 'hex' },
  // The standard and the URL-safe alphabet.
  { pattern: /[\w+/-]{8,}/g, size: 4, bytes: 3, encoding: 'base64' },
]

const decoders: readonly Decoder[] = [
  ...escapes.map(unescaping),
  ...alphabets.flatMap(alphabet => Array.from({ length: alphabet.size }, (_, offset) => decoding(alphabet, offset))),
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

function decoding({ pattern, size, bytes, encoding }: Alphabet, offset: number): Decoder {
  return view => {
    const text = view.bytes.toString('latin1')
    const decoded = new Decoded(view)
    for (const { 0: stretch, index } of text.matchAll(pattern)) {
      // A separator: what is found must not span two stretches.
      decoded.add(0xff, index, index)
      const read = Buffer.from(stretch.slice(offset), encoding)
      for (const [at, byte] of read.entries()) {
        const first = index + offset + Math.floor((at * size) / bytes)
        decoded.add(byte, first, index + offset + Math.ceil(((at + 1) * size) / bytes))
      }
    }
    return decoded.isEmpty ? undefined : decoded.view()
  }
}

/** Builds one view from another. */
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
function withoutSpace(view: View): View {
  const kept = [...view.bytes.keys()].filter(at => (view.bytes[at] ?? 0) > 0x20)
  if (kept.length === view.bytes.length) return view
  return {
    bytes: Buffer.from(kept.map(at => view.bytes[at] ?? 0)),
    begins: Uint32Array.from(kept, at => view.begins[at] ?? 0),
    ends: Uint32Array.from(kept, at => view.ends[at] ?? 0),
  }
}
