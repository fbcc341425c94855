// Decodes the escapes in a string, so that none of them hides a secret. The position of each character in the original string is recorded, because
// the text around a secret is exported unchanged.
import { entities } from './decoded-views.ts'

export interface UnfoldedText {
  readonly text: string
  /** The positions of the characters in the original string, followed by the length of the original string. */
  readonly offsets: Uint32Array
}

/** The maximum nesting depth of escapes that are decoded, such as JSON within JSON within a URL. */
const maxDepth = 3

/** Matches one escape to decode. Each alternative reads a bounded number of characters, so that the search takes linear time. */
const folds = new RegExp(
  [
    // Matches the rest of a colour code or a link (OSC 8) whose ESC character was escaped, replaced or removed. Does not match after `<![CDATA[`,
    // because a secret may begin there.
    String.raw`(?:[\u001b\u009b\u241b\ufffd]|\^\[|#x1B)\[[0-?]{0,32}[ -/]{0,4}[@-~]|(?<!cdata)\[(?:\d[\d;]{0,20}(?-i:m)|[0-2](?-i:K))`,
    String.raw`[\u001b\u241b]\][^\u0007\u001b\u241b]{0,2048}(?:\u0007|[\u001b\u241b]\\)`,
    // Matches control characters other than white space, and invisible characters.
    String.raw`[\u0000-\u0008\u000e-\u001f\u007f-\u009f]|\p{Default_Ignorable_Code_Point}`,
    String.raw`%e2%80%(?:8[b-f]|a[a-e])|%ef%bb%bf|%(?<percent>0[9ad]|1b|[2-7][0-9a-f])`,
    // Matches escapes of PowerShell.
    String.raw`(?-i:\x60[nrt0])`,
    String.raw`\\(?:u\{0{0,8}(?<braced>[0-9a-f]{1,6})\}|(?-i:U)000(?<eight>[01][0-9a-f]{4})|u(?<four>[0-9a-f]{4})|x(?<two>[0-9a-f]{2})|(?<octal>[01][0-7]{2})|(?<letter>[0nrtbfvae"'\x60/\\]))`,
    String.raw`&(?:#x0{0,8}(?<hex>[0-9a-f]{1,6})|#0{0,8}(?<decimal>\d{1,7})|(?<name>${Object.keys(entities).join('|')}));?`,
  ].join('|'),
  'giu',
)

const letters: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\n',
  t: '\t',
  b: '',
  f: '',
  v: '',
  a: '',
  '0': '',
  e: '\u001b',
}

/** Returns the string with its escapes decoded, including nested ones; undefined if it has none. */
export function unfolded(text: string): UnfoldedText | undefined {
  let last: UnfoldedText | undefined
  for (let depth = 0; depth < maxDepth; depth += 1) {
    const next = unfoldedOnce(last ?? { text })
    if (next === undefined) break
    last = next
  }
  return last
}

function unfoldedOnce({
  text,
  offsets,
}: {
  readonly text: string
  readonly offsets?: Uint32Array
}): UnfoldedText | undefined {
  folds.lastIndex = 0
  let found = folds.exec(text)
  if (found === null) return undefined
  const next = new Uint32Array(text.length + 1)
  let [result, at, length] = ['', 0, 0]
  const keep = (end: number): void => {
    result += text.slice(at, end)
    for (; at < end; at += 1) next[length++] = offsets?.[at] ?? at
  }
  for (; found !== null; found = folds.exec(text)) {
    keep(found.index)
    const decoded = decodedFold(found.groups ?? {})
    result += decoded
    next.fill(offsets?.[at] ?? at, length, length + decoded.length)
    length += decoded.length
    at = folds.lastIndex
  }
  keep(text.length)
  next[length] = offsets?.[text.length] ?? text.length
  return { text: result, offsets: next }
}

function decodedFold({
  percent,
  braced,
  eight,
  four,
  two,
  octal,
  letter,
  hex,
  decimal,
  name,
}: Readonly<Record<string, string | undefined>>): string {
  if (letter !== undefined) return letters[letter.toLowerCase()] ?? letter
  if (name !== undefined) return entities[name.toLowerCase()] ?? ''
  const sixteen = percent ?? braced ?? eight ?? four ?? two ?? hex
  const code =
    octal === undefined
      ? sixteen === undefined
        ? Number(decimal ?? NaN)
        : Number.parseInt(sixteen, 16)
      : Number.parseInt(octal, 8)
  return code >= 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ''
}
