// Decodes text in all known ways, so that a secret in it is found however it was encoded: with percent, backslash and HTML escapes, hex, and base64
// at any offset, nested in any order. Text is a string of bytes here: each character represents one byte (`latin1`).

/** The maximum nesting depth of encodings that are decoded. Hex within base64 counts as two levels. */
const maxDepth = 3

/** Yields every decoding of the bytes, each without white space, so that a secret split across lines is found as well. */
export function* decodingsOf(bytes: string, depth = maxDepth): Generator<string> {
  for (const decode of decoders) {
    const decoded = withoutSpace(decode(bytes))
    if (decoded === bytes || decoded === '') continue
    yield decoded
    if (depth > 1) yield* decodingsOf(decoded, depth - 1)
  }
}

/** Removes white space and control characters. */
export function withoutSpace(bytes: string): string {
  return bytes.replace(/[\0-\x20]+/g, '')
}

/** HTML entities that may occur within a secret or next to it. */
export const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  tab: '\t',
  newline: '\n',
  sol: '/',
  bsol: '\\',
  plus: '+',
  equals: '=',
  colon: ':',
  semi: ';',
  comma: ',',
  period: '.',
  commat: '@',
  lowbar: '_',
  hyphen: '-',
  dash: '-',
}
const shorthands: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

/** Decodes the escapes in a string. Returns the string unchanged if there is nothing to decode. */
type Decoder = (bytes: string) => string

const entity = new RegExp(`&(?:#x([0-9a-f]{1,6})|#(\\d{1,7})|(${Object.keys(entities).join('|')}));?`, 'gi')

const decoders: readonly Decoder[] = [
  bytes => bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => decoded(hex, 'hex')),
  // Decodes percent encoding as in HTML forms, where `+` is a space.
  bytes => bytes.replace(/%([0-9a-f]{2})|\+/gi, (_, hex?: string) => decoded(hex ?? '20', 'hex')),
  bytes =>
    bytes.replace(
      /\\(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2})|(.))/gi,
      (_, braced?: string, four?: string, two?: string, letter?: string) => {
        const hex = braced ?? four ?? two
        return hex === undefined ? (shorthands[letter ?? ''] ?? letter ?? '') : character(Number.parseInt(hex, 16))
      },
    ),
  bytes =>
    bytes.replace(entity, (_, hex?: string, decimal?: string, name?: string) =>
      hex === undefined && decimal === undefined
        ? (entities[name?.toLowerCase() ?? ''] ?? '')
        : character(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)),
    ),
  // Decoding is tried at each offset, because an encoded secret may begin anywhere: two hex characters encode one byte, four base64 characters encode
  // three.
  ...[0, 1].map(
    (offset): Decoder =>
      bytes =>
        decodedStretches(bytes, /[0-9a-f]{12,}/gi, 'hex', offset),
  ),
  // Decodes the standard and the URL-safe alphabet of base64.
  ...[0, 1, 2, 3].map(
    (offset): Decoder =>
      bytes =>
        decodedStretches(bytes, /[\w+/-]{8,}/g, 'base64', offset),
  ),
]

/** Decodes the matching parts of a string. Separators between the decoded parts keep a later match from spanning two of them. */
function decodedStretches(bytes: string, stretch: RegExp, encoding: 'hex' | 'base64', offset: number): string {
  return (bytes.match(stretch) ?? []).map(found => decoded(found.slice(offset), encoding)).join('\xff')
}

function decoded(text: string, encoding: 'hex' | 'base64'): string {
  return Buffer.from(text, encoding).toString('latin1')
}

function character(code: number): string {
  return code > 0x10ffff ? '' : Buffer.from(String.fromCodePoint(code)).toString('latin1')
}
