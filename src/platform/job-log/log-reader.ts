// Parses a job's log while it arrives: the section markers with the timestamps of their lines, and the lines as people read them. The result does not
// depend on how the log's bytes are split up.
//
// 1. `LogText` divides the bytes into lines, and long lines into pieces.
// 2. Each piece is searched for markers. A marker erases the text before it on its line, as on a terminal, and the text after a start marker is the
//    section's title.
// 3. A CR also erases the text before it, unless the CR is at the end of the line.
// 4. If the text at the end of a line may be a marker, the next line decides. The text is a marker if the next line begins with ESC[0K, or if the
//    text's own line ended with a CR and has a timestamp. Otherwise it is ordinary text.
import { maxSecret } from '../../lib/text-redaction.ts'
import { withControlsMarked, withoutControls } from '../../lib/plain-text.ts'
import { aheadLength, LogText, type Piece, type Stamp } from './log-text.ts'

// Finds section markers: `section_(start|end):DIGITS:NAME[OPTIONS] CR ESC[0K`.
//
// A line may contain several markers, anywhere. The CR may be missing, and in logs with timestamps ESC[0K may be on the next line of the file. Text
// of this form without ESC[0K is not a marker, but was printed by a script.

interface Marker {
  readonly edge: 'start' | 'end'
  /** The digits: a Unix time in seconds, ms, µs or ns. */
  readonly number: string
  readonly name: string
}

/** A marker found in a piece of a line. */
interface FoundMarker extends Marker {
  /** The index at which the marker begins. `to`: the index at which the text after the marker begins. */
  readonly from: number
  readonly to: number
  /**
   * How the marker ends. `sure`: with ESC[0K. `cr`: the line ended after the marker's CR, before ESC[0K. `open`: the line ended before the marker's
   * CR.
   */
  readonly end: 'sure' | 'cr' | 'open'
}

/** Maximum lengths of a marker's name and options. They ensure that a marker is shorter than `aheadLength`. */
const maxLength = { name: 255, options: 511 }
const word = String.raw`\w{1,64}`
const pattern = new RegExp(
  String.raw`section_(start|end):(\d{1,20}):([a-zA-Z0-9_.-]{1,${maxLength.name}})(\[${word}=${word}(?:, ?${word}=${word})*\])?(\r?)(?:(\x1b\[0K)|($))`,
  'g',
)
const eraseLine = '\u001b[0K'

/** Finds the markers that begin within the first `length` characters of `text`. `isLast`: `text` reaches to the end of its line. */
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

// Finds the part of a log line that remains visible on a terminal, which is the text after its last CR.

/** The text after the last CR that is not at the end of the line. A progress bar overwrites its line with such CRs. */
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
  /** The timestamp of the file line that contains the marker. */
  readonly stamp: Stamp | undefined
}

/** A line as people read it. It may be joined from several lines of the log file. */
export interface ReadLine {
  /** The line number in the log, starting at 1. */
  readonly number: number
  /** If the line was joined from several lines of the log file, it has the timestamp of the first one. */
  readonly stamp: Stamp | undefined
  /** The text of the line without markers, timestamps and control sequences. Very long text is truncated. */
  readonly text: string
}

/** Receives the parts of a log in order. The markers within a line are received before the line. */
export interface LogSink {
  marker(marker: ReadMarker): void
  /**
   * Receives a section's title. `text`: the text from a start marker to the next marker or the end of the line. The places of removed control
   * sequences are marked in it.
   */
  title(text: string): void
  /** `raw`: the text of the line with its control sequences. */
  line(line: ReadLine, raw: string): void
}

/** Maximum number of characters of a raw line that are kept in memory. */
const maxHeld = 32 * 1024
/** Maximum number of characters of a raw title that are kept in memory. */
const maxTitle = 4 * 1024

export class LogReader {
  readonly #sink: LogSink
  readonly #text: LogText
  #number = 0
  #isInLine = false
  #stamp: Stamp | undefined
  /** The text of the current line since its last CR, without markers. */
  #held = ''
  /** Text at the end of a line of the log file that may be a marker. The next line decides whether it is a marker. */
  #undecided: (FoundMarker & { readonly stamp: Stamp | undefined; readonly text: string }) | undefined
  /** True if an empty line followed the undecided marker. */
  #isBlankNext = false
  /** Number of characters by which the last marker of a piece extends into the next piece. */
  #beyond = 0
  /** True if the text that was added last ended with a CR. */
  #hasReturned = false
  /** The section title that is currently being read; undefined if there is none. */
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
    // If the log was stored as text, a CR LF may have become two line endings. So an empty line does not decide whether the text before it is a
    // marker.
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
   * Decides whether the undecided text is a marker, and returns true if its line and the next one belong together. `next`: the text that follows the
   * undecided text. `isFirst`: `next` starts a new line of the log file. A log that was stored as text may have a line ending in place of the
   * marker's CR.
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
    // A marker erases the text before it on its line.
    this.#clear()
    if (edge === 'start') this.#title = ''
  }

  /** Adds text between markers to the line, and to the title if one is being read. */
  #addText(text: string): void {
    if (this.#title !== undefined && this.#title.length < maxTitle) this.#title += text.slice(0, maxTitle)
    const end = endBeforeReturns(text)
    if (end > 0) {
      const last = text.lastIndexOf('\r', end - 1)
      // A CR at the end may be part of the line ending. It erases the text before it only if more text follows.
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

/** Drops the end of a truncated text, because it may be half a secret. */
function withoutCutEnd(text: string, max: number): string {
  return text.length < max ? text : text.slice(0, max - maxSecret)
}
