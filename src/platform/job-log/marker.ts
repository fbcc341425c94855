// Finds the markers of sections in a job's log: `section_(start|end):DIGITS:NAME[OPTIONS] CR ESC[0K`.
//
// A line may contain several markers, at any place. The CR may be missing, and in logs with timestamps ESC[0K may be in the next line of the file.
// A text of this form without ESC[0K is not a marker: a script has printed it.
import { aheadLength } from './log-text.ts'

export interface Marker {
  readonly edge: 'start' | 'end'
  /** The digits: a Unix time in seconds, ms, µs or ns. */
  readonly number: string
  readonly name: string
}

/** A marker that was found in a piece of a line. */
export interface FoundMarker extends Marker {
  /** The indexes at which the marker begins and the text after it begins. */
  readonly from: number
  readonly to: number
  /** `sure`: the marker ends with ESC[0K. Otherwise the line ended before ESC[0K: `cr` after a CR, `open` without a CR. */
  readonly end: 'sure' | 'cr' | 'open'
}

/** Maximum lengths of a name and of options. They keep a marker shorter than `aheadLength`. */
const maxLength = { name: 255, options: 511 }
const word = String.raw`\w{1,64}`
const pattern = new RegExp(
  String.raw`section_(start|end):(\d{1,20}):([a-zA-Z0-9_.-]{1,${maxLength.name}})(\[${word}=${word}(?:, ?${word}=${word})*\])?(\r?)(?:(\x1b\[0K)|($))`,
  'g',
)
export const eraseLine = '\u001b[0K'

/** The markers that begin within the first `length` characters of a line's text. `isLast`: the text is the end of its line. */
export function markersIn(text: string, length: number, isLast: boolean): FoundMarker[] {
  if (!text.includes('section_')) return []
  const found: FoundMarker[] = []
  for (const match of text.matchAll(pattern)) {
    const [whole, edge, number = '', name = '', options = '', cr, erase] = match
    if (match.index >= length) break
    if (options.length > maxLength.options || whole.length > aheadLength) continue
    if (erase === undefined && !isLast) continue
    found.push({
      ...{ edge: edge === 'start' ? 'start' : 'end', number, name },
      ...{ from: match.index, to: match.index + whole.length },
      end: erase !== undefined ? 'sure' : cr === '' ? 'open' : 'cr',
    })
  }
  return found
}

/** The time of a marker in ms. The unit follows from the magnitude, because some versions of `awk` do not print seconds. */
export function instantOf(number: string): number {
  const value = Number(number)
  if (value < 2 ** 32) return value * 1_000
  if (value < 2 ** 32 * 1e3) return value
  return value < 2 ** 32 * 1e6 ? value / 1e3 : value / 1e6
}
