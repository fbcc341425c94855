// Removes sequences and characters that control a terminal or change the text direction from external text. Also truncates strings, and replaces
// ranges of a string, which may overlap and be in any order.

/** Matches CSI, OSC and other string sequences, and two-character sequences, even if they are cut off at the end of the text. */
const sequences =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*(?:[@-~]|$)|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c|$)|\u001b[PX^_][^\u001b]*\u001b\\|\u001b(?:[ -/]*[0-Z\\^-~]|$)/g
const ends = /\r\n?|[\u000b\u000c\u001c-\u001f\u0085]/g
const controls = /[\u0000-\u0008\u000e-\u001b\u007f-\u009f]/g
const anyControl = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/
/** Matches invisible characters, including zero-width characters, and characters that change the text direction. */
const unseen = /[\p{Cf}\p{Cs}\u2028\u2029]|[^\P{Cc}\n\t]/gu

/** Marks removed characters. Stored text never contains this character, because databases reject it. */
export const removed = '\0'

/** Replaces each control sequence, and each control character except tabs, with `removed`. Every line ending becomes LF. */
export function withControlsMarked(text: string): string {
  return anyControl.test(text) ? text.replace(sequences, removed).replace(ends, '\n').replace(controls, removed) : text
}

export function withoutControls(text: string): string {
  return withControlsMarked(text).replaceAll(removed, '')
}

/** Returns the string on one line, without invisible characters, for terminals, mails and messages. */
export function plainLine(text: string): string {
  return withoutControls(text)
    .replace(/[^\S\ufeff]+/g, ' ')
    .replace(unseen, '')
    .trim()
}

/** Like `plainLine`, but keeps line breaks. */
export function plainLines(text: string): string {
  return text.replace(sequences, '').replace(unseen, '')
}

/** Returns the string if it has at most `maxLength` UTF-16 units, or else a copy of its beginning. Lone surrogates are replaced. */
export function truncated(text: string, maxLength: number): string {
  return text.length <= maxLength ? text.toWellFormed() : truncatedCopy(text, maxLength)
}

/** Returns a copy of the first `maxLength` UTF-16 units. A slice would keep the whole original string in memory. */
export function truncatedCopy(text: string, maxLength: number): string {
  return Buffer.from(text.slice(0, maxLength)).toString()
}

/** Escapes the invisible characters in JSON. */
export function plainJson(json: string): string {
  return json.replace(unseen, one =>
    Array.from({ length: one.length }, (_, at) => `\\u${one.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )
}

export interface TextRange {
  readonly from: number
  readonly to: number
}

/** Replaces ranges of a string. Ranges that overlap or touch are replaced by a single replacement. */
export function withoutRanges(text: string, ranges: readonly TextRange[], replacement: string): string {
  let result = ''
  let at = 0
  let isBegun = false
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from || b.to - a.to)) {
    if (!isBegun || from > at) result += text.slice(at, from) + replacement
    at = Math.max(at, to)
    isBegun = true
  }
  return result + text.slice(at)
}
