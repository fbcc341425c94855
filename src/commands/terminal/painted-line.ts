// A line of pieces with colours, drawn into so many columns.
import { cut, plain, widthOf } from './fitted-text.ts'

const paint = { red: 31, green: 32, yellow: 33, blue: 34, dim: 2, bold: 1, inverse: 7 } as const
export type Paint = keyof typeof paint

/** A piece of a line, and its colour. */
export type Piece = string | readonly [Paint, string]

/** What does not fit is left out. Control characters in the pieces become spaces. */
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
