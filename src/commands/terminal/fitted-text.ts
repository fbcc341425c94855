// Fits text into the columns of a terminal. Wide characters (東) and emoji take two columns, combining characters none.
import stringWidth from 'string-width'
import { withoutControls } from '../../lib/plain-text.ts'

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * Removes escape sequences, because names come from external sources. Other control characters, and characters that change the direction of text,
 * become spaces.
 */
export function plain(text: string): string {
  return withoutControls(text).replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
}

/** Returns the text without its last character. */
export function withoutLast(text: string): string {
  return [...characters.segment(text)]
    .slice(0, -1)
    .map(({ segment }) => segment)
    .join('')
}

/** Returns the width of a string in columns. */
export function widthOf(text: string): number {
  return stringWidth(text)
}

/** Returns the longest beginning of the text that fits into this number of columns. */
export function cut(text: string, columns: number): string {
  if (text.length * 2 <= columns || widthOf(text) <= columns) return text
  let [kept, width] = ['', 0]
  for (const { segment } of characters.segment(text)) {
    width += widthOf(segment)
    if (width > columns) break
    kept += segment
  }
  return kept
}

/** Returns the text if it fits into this number of columns. Otherwise returns its beginning, followed by `…`. */
export function fitted(text: string, columns: number): string {
  return widthOf(text) <= columns ? text : `${cut(text, Math.max(0, columns - 1))}…`
}

/** Returns the text, cut or padded to exactly this number of columns. */
export function padded(text: string, columns: number): string {
  const shown = fitted(text, columns)
  return shown + ' '.repeat(Math.max(0, columns - widthOf(shown)))
}

const paint = { red: 31, green: 32, yellow: 33, blue: 34, dim: 2, bold: 1, inverse: 7 } as const
export type Paint = keyof typeof paint

/** A piece of a line with its colour. */
export type Piece = string | readonly [Paint, string]

/** Draws a line, and omits what does not fit. Control characters in the pieces become spaces. */
export function drawnLine(line: readonly Piece[], width: number, color: boolean): string {
  let left = width
  let text = ''
  for (const piece of line) {
    const [style, words] = typeof piece === 'string' ? [undefined, piece] : piece
    const shown = cut(plain(words), left)
    left -= widthOf(shown)
    text += style !== undefined && color && shown !== '' ? `\x1b[${paint[style]}m${shown}\x1b[0m` : shown
  }
  return text.trimEnd()
}
