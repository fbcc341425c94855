// Parses a job's log as it arrives: its section markers, with the timestamp of their line, and its lines as people read them. How the bytes are
// divided makes no difference.
import { afterLastReturn, endBeforeReturns, plain } from './control-sequences.ts'
import { eraseLine, markersIn, type FoundMarker, type Marker } from './marker.ts'
import { maxSecret } from '../text-redaction.ts'
import { LogText, type Piece, type Stamp } from './log-text.ts'

export interface ReadMarker extends Marker {
  /** Of the line in the file that contains it. */
  readonly stamp: Stamp | undefined
}

/** A line, joined if it spans several lines of the file. */
export interface ReadLine {
  /** From 1. */
  readonly number: number
  /** Of its first line in the file. */
  readonly stamp: Stamp | undefined
  /** Without markers, timestamps and control sequences; cut if it is very long. */
  readonly text: string
}

/** Called in the order of the log, with a line after its markers. */
export interface LogSink {
  marker(marker: ReadMarker): void
  /** The text between a start marker and the next marker or the line's end. */
  title(text: string): void
  /** `raw`: the same text with its control sequences. */
  line(line: ReadLine, raw: string): void
}

/** Characters of a raw line that are held. */
const maxHeld = 32 * 1024
/** Characters of a raw title that are held. */
const maxTitle = 4 * 1024

export class LogReader {
  readonly #sink: LogSink
  readonly #text: LogText
  #number = 0
  #isInLine = false
  #stamp: Stamp | undefined
  /** The line's text since its last CR, without markers. */
  #held = ''
  /** A possible marker at the end of a line in the file: the next line decides. */
  #undecided: (FoundMarker & { readonly stamp: Stamp | undefined; readonly text: string }) | undefined
  /** An empty line followed it. */
  #isBlankNext = false
  /** How far a marker of the last piece extends into the next one. */
  #beyond = 0
  /** The held text ended with a CR. */
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

  get isStamped(): boolean {
    return this.#text.isStamped === true
  }

  #piece({ text, ahead, stamp, isFirst, isLast }: Piece): void {
    // What was CR LF may have become two line ends.
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
      this.#take(text.slice(at, found.from))
      at = found.to
      if (found.end === 'sure') this.#mark(found, stamp)
      else this.#undecided = { ...found, stamp, text: text.slice(found.from) }
    }
    if (at < text.length) this.#take(text.slice(at))
    this.#beyond = isLast ? 0 : Math.max(0, at - text.length)
  }

  /**
   * `next`: what follows, in the same line or, `isFirst`, in the next one: logs that were kept as text may have a line end in place of a marker's CR.
   * True if that joins both lines.
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
    this.#take(one.text)
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
    // On a terminal a marker erases the line it is in.
    this.#clear()
    if (edge === 'start') this.#title = ''
  }

  /** Takes text between markers. */
  #take(text: string): void {
    if (this.#title !== undefined && this.#title.length < maxTitle) this.#title += text.slice(0, maxTitle)
    const end = endBeforeReturns(text)
    if (end > 0) {
      const last = text.lastIndexOf('\r', end - 1)
      // A CR at the end may belong to the line's end: it only overwrites the text if more follows.
      const before = last === -1 && !this.#hasReturned ? this.#held : ''
      const held = before + text.slice(last + 1, end)
      this.#held = held.length > maxHeld ? held.slice(0, maxHeld) : held
    }
    if (text !== '') this.#hasReturned = end < text.length
  }

  #endTitle(): void {
    if (this.#title === undefined) return
    const title = plain(afterLastReturn(withoutCutEnd(this.#title, maxTitle))).trim()
    this.#title = undefined
    if (title !== '') this.#sink.title(title)
  }

  #endLine(): void {
    if (!this.#isInLine) return
    this.#endTitle()
    this.#isInLine = false
    const raw = withoutCutEnd(this.#held, maxHeld)
    this.#clear()
    this.#sink.line({ number: this.#number, stamp: this.#stamp, text: plain(raw) }, raw)
  }

  #clear(): void {
    this.#held = ''
    this.#hasReturned = false
  }
}

/** Of a text that was cut, the end may be half a secret. */
function withoutCutEnd(text: string, most: number): string {
  return text.length < most ? text : text.slice(0, most - maxSecret)
}
