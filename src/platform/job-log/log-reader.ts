// Parses a job's log while it arrives: the section markers, with the timestamp of their line, and the lines as people read them. The result does not
// depend on how the bytes are divided.
//
// 1. `LogText` divides the bytes into lines, and long lines into pieces.
// 2. Each piece is searched for markers. A marker erases the text before it in its line, as on a terminal, and the text after a start marker is the
//    title.
// 3. A CR erases the text before it, too, unless it is at the end of the line.
// 4. A possible marker at the end of a line is undecided until the next line arrives. It was a marker if that line begins with ESC[0K, or if the
//    line of the possible marker ended with a CR and has a timestamp. Otherwise it is text.
import { maxSecret } from '../../lib/text-redaction.ts'
import { withControlsMarked, withoutControls } from '../../lib/plain-text.ts'
import { aheadLength, LogText, type Piece, type Stamp } from './log-text.ts'

// Finds the markers of sections: `section_(start|end):DIGITS:NAME[OPTIONS] CR ESC[0K`.
//
// A line may contain several markers, at any place. The CR may be missing, and in logs with timestamps ESC[0K may be in the next line of the file.
// A text of this form without ESC[0K is not a marker: a script has printed it.

interface Marker {
  readonly edge: 'start' | 'end'
  /** The digits: a Unix time in seconds, ms, µs or ns. */
  readonly number: string
  readonly name: string
}

/** A marker that was found in a piece of a line. */
interface FoundMarker extends Marker {
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
const eraseLine = '\u001b[0K'

/** The markers that begin within the first `length` characters of a line's text. `isLast`: the text is the end of its line. */
function markersIn(text: string, length: number, isLast: boolean): FoundMarker[] {
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

// Finds the part of a line of a job's log that remains visible on a terminal: the text after its last CR.

/** The text after the last CR that is not at the end: a progress bar overwrites its line with such CRs. */
function afterLastReturn(text: string): string {
  const end = endBeforeReturns(text)
  return end === 0 ? '' : text.slice(text.lastIndexOf('\r', end - 1) + 1, end)
}

/** The index at which the CRs at the end of a text begin. */
function endBeforeReturns(text: string): number {
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) === carriageReturn) end -= 1
  return end
}

const carriageReturn = 0x0d

export interface ReadMarker extends Marker {
  /** The timestamp of the file's line that contains the marker. */
  readonly stamp: Stamp | undefined
}

/** A line as people read it. It may be joined from several lines of the file. */
export interface ReadLine {
  /** Lines are numbered from 1. */
  readonly number: number
  /** The timestamp of the first of these lines of the file. */
  readonly stamp: Stamp | undefined
  /** The text without markers, timestamps and control sequences. A very long text is cut. */
  readonly text: string
}

/** Receives the parts of a log in its order. A line follows the markers that it contains. */
export interface LogSink {
  marker(marker: ReadMarker): void
  /** `text`: the text from a start marker to the next marker or the end of the line, with removed control sequences marked. */
  title(text: string): void
  /** `raw`: the text of the line with its control sequences. */
  line(line: ReadLine, raw: string): void
}

/** Maximum number of characters that are kept of a raw line. */
const maxHeld = 32 * 1024
/** Maximum number of characters that are kept of a raw title. */
const maxTitle = 4 * 1024

export class LogReader {
  readonly #sink: LogSink
  readonly #text: LogText
  #number = 0
  #isInLine = false
  #stamp: Stamp | undefined
  /** The text of the line since its last CR, without markers. */
  #held = ''
  /** A possible marker at the end of a line of the file: the next line decides whether it is one. */
  #undecided: (FoundMarker & { readonly stamp: Stamp | undefined; readonly text: string }) | undefined
  /** An empty line follows the undecided marker. */
  #isBlankNext = false
  /** Number of characters by which a marker of the last piece extends into the next piece. */
  #beyond = 0
  /** The text before ended with a CR. */
  #hasReturned = false
  /** The title that is being read. */
  #title: string | undefined

  constructor(sink: LogSink) {
    this.#sink = sink
    this.#text = new LogText(piece => this.#piece(piece))
  }

  feed(window: Uint8Array): void {
    this.#text.feed(window)
  }

  end(): void {
    this.#text.end()
    this.#decide('', true)
    this.#endLine()
  }

  #piece({ text, ahead, stamp, isFirst, isLast }: Piece): void {
    // A CR LF may have become two ends of lines, so an empty line does not decide yet.
    if (text === '' && isFirst && isLast && this.#undecided?.end === 'open' && !this.#isBlankNext) {
      this.#isBlankNext = true
      return
    }
    const isJoined = this.#decide(text, isFirst)
    if ((isFirst && !isJoined) || !this.#isInLine) {
      this.#endLine()
      this.#number += 1
      this.#isInLine = true
      this.#stamp = stamp
    }
    let at = isFirst ? 0 : this.#beyond
    for (const found of markersIn(text + ahead, text.length, isLast)) {
      if (found.from < at) continue
      this.#addText(text.slice(at, found.from))
      at = found.to
      if (found.end === 'sure') this.#mark(found, stamp)
      else this.#undecided = { ...found, stamp, text: text.slice(found.from) }
    }
    if (at < text.length) this.#addText(text.slice(at))
    this.#beyond = isLast ? 0 : Math.max(0, at - text.length)
  }

  /**
   * Decides whether the undecided text is a marker. `next`: the text that follows it; `isFirst`: that text begins another line of the file, because
   * a log that was stored as text may have the end of a line in place of the marker's CR. Answers true if both lines are one.
   */
  #decide(next: string, isFirst: boolean): boolean {
    const one = this.#undecided
    if (one === undefined) return false
    const hasBlank = this.#isBlankNext
    this.#undecided = undefined
    this.#isBlankNext = false
    const isErased = next.startsWith(eraseLine)
    if (isErased || (one.end === 'cr' && one.stamp !== undefined)) {
      this.#mark(one, one.stamp)
      return isErased && isFirst
    }
    this.#addText(one.text)
    if (hasBlank) {
      this.#endLine()
      this.#number += 1
      this.#isInLine = true
      this.#stamp = undefined
    }
    return false
  }

  #mark(marker: Marker, stamp: Stamp | undefined): void {
    this.#endTitle()
    const { edge, number, name } = marker
    this.#sink.marker({ edge, number, name, stamp })
    // A marker erases the text before it in its line.
    this.#clear()
    if (edge === 'start') this.#title = ''
  }

  /** Adds text between markers to the line, and to the title if one is being read. */
  #addText(text: string): void {
    if (this.#title !== undefined && this.#title.length < maxTitle) this.#title += text.slice(0, maxTitle)
    const end = endBeforeReturns(text)
    if (end > 0) {
      const last = text.lastIndexOf('\r', end - 1)
      // A CR at the end may belong to the end of the line: it only erases the text if more text follows.
      const before = last === -1 && !this.#hasReturned ? this.#held : ''
      const held = before + text.slice(last + 1, end)
      this.#held = held.length > maxHeld ? held.slice(0, maxHeld) : held
    }
    if (text !== '') this.#hasReturned = end < text.length
  }

  #endTitle(): void {
    if (this.#title === undefined) return
    const title = withControlsMarked(afterLastReturn(withoutCutEnd(this.#title, maxTitle))).trim()
    this.#title = undefined
    if (withoutControls(title).trim() !== '') this.#sink.title(title)
  }

  #endLine(): void {
    if (!this.#isInLine) return
    this.#endTitle()
    this.#isInLine = false
    const raw = withoutCutEnd(this.#held, maxHeld)
    this.#clear()
    this.#sink.line({ number: this.#number, stamp: this.#stamp, text: withoutControls(raw) }, raw)
  }

  #clear(): void {
    this.#held = ''
    this.#hasReturned = false
  }
}

/** Drops the end of a text that was cut, because it may be half a secret. */
function withoutCutEnd(text: string, max: number): string {
  return text.length < max ? text : text.slice(0, max - maxSecret)
}
