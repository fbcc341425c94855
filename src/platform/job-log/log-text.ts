// Divides a job's log, which arrives in windows of bytes, into lines, and long lines into pieces. The pieces do not depend on the windows.
//
// Newer runners timestamp each line:  2026-01-21T09:47:26.583005Z 00O+text
//                                     time                        │ │└ `+`: continues the line before, without a line break in between; else a blank
//                                                                 │ └ `O` stdout, `E` stderr
//                                                                 └ stream, two hex digits
// The first line decides whether a log has timestamps, as on the platform.

/** The timestamp at the start of a line. */
export interface Stamp {
  /** Unix time in ms; the fraction contains the microseconds. */
  readonly at: number
  readonly stream: 'stdout' | 'stderr'
}

/** A piece of a line in the log file. */
export interface Piece {
  /** The text of the piece without the timestamp. It has at most `pieceLength` characters. */
  readonly text: string
  /** The text that follows the piece on the same line. It is long enough to complete a marker that begins in `text`. */
  readonly ahead: string
  /** Undefined if the line has no timestamp. */
  readonly stamp: Stamp | undefined
  /** True for the first piece of a line, unless the line continues the one before. */
  readonly isFirst: boolean
  /** True for the last piece of a line in the log file. */
  readonly isLast: boolean
}

/** Maximum number of characters in a piece, and in the text ahead of it. A marker is shorter than `aheadLength`. */
const pieceLength = 32 * 1024
export const aheadLength = 1024

const stampPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z [0-9a-f]{2}([OE])([+ ])/
const stampLength = 32

export class LogText {
  readonly #decoder = new TextDecoder()
  readonly #onPiece: (piece: Piece) => void
  #held = ''
  /** Whether the log's lines have timestamps; undefined before the first line has been read. */
  #isStamped: boolean | undefined
  /** The line of which some pieces have been passed on, but not yet the last one. */
  #begun: { readonly stamp: Stamp | undefined } | undefined

  constructor(onPiece: (piece: Piece) => void) {
    this.#onPiece = onPiece
  }

  feed(window: Uint8Array): void {
    this.#read(this.#decoder.decode(window, { stream: true }))
  }

  /** Must be called at the end of the log. The remaining text is the last line. */
  end(): void {
    this.#read(this.#decoder.decode())
    if (this.#held !== '' || this.#begun !== undefined) this.#line(this.#held, 0, this.#held.length)
    this.#held = ''
  }

  #read(fresh: string): void {
    const text = this.#held === '' ? fresh : this.#held + fresh
    let from = 0
    for (;;) {
      const end = text.indexOf('\n', from)
      if (end === -1) break
      this.#line(text, from, end)
      from = end + 1
    }
    this.#held = this.#pieces(text, from, text.length)
  }

  /** Passes the pieces of a line that has ended to `onPiece`. */
  #line(text: string, from: number, end: number): void {
    const rest = this.#pieces(text, from, end)
    const { begun, at } = this.#beginning(rest)
    this.#onPiece({ text: rest.slice(at), ahead: '', ...begun, isLast: true })
    this.#begun = undefined
  }

  /** Passes the full pieces of a long line to `onPiece`, and returns the rest of its text. */
  #pieces(text: string, from: number, end: number): string {
    let start = from
    while (end - start >= stampLength + pieceLength + aheadLength) {
      const { begun, at } = this.#beginning(text.slice(start, start + stampLength))
      const cut = start + at + pieceLength
      const piece = text.slice(start + at, cut)
      this.#onPiece({ text: piece, ahead: text.slice(cut, cut + aheadLength), ...begun, isLast: false })
      this.#begun = { stamp: begun.stamp }
      start = cut
    }
    return text.slice(start, end)
  }

  /** Parses the beginning of a piece. `at`: the index at which its text begins. */
  #beginning(text: string): { begun: Pick<Piece, 'stamp' | 'isFirst'>; at: number } {
    if (this.#begun !== undefined) return { begun: { ...this.#begun, isFirst: false }, at: 0 }
    const found = this.#isStamped === false ? null : stampPattern.exec(text)
    this.#isStamped ??= found !== null
    if (found === null) return { begun: { stamp: undefined, isFirst: true }, at: 0 }
    const [, seconds = '', micros = '', stream, joint] = found
    const at = Date.parse(`${seconds}Z`) + Number(micros) / 1_000
    if (Number.isNaN(at)) return { begun: { stamp: undefined, isFirst: true }, at: 0 }
    const stamp: Stamp = { at, stream: stream === 'E' ? 'stderr' : 'stdout' }
    return { begun: { stamp, isFirst: joint !== '+' }, at: stampLength }
  }
}
