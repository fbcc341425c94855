// A job's log as text, line by line, from windows of bytes that are cut anywhere. No line is held whole: a long one comes in pieces that
// are cut at the same places however the windows are.
//
// Newer runners stamp each line:  2026-01-21T09:47:26.583005Z 00O+text
//                                 time                        │ │└ `+`: continues the line before, whose end is no content; else a blank
//                                                             │ └ `O` stdout, `E` stderr
//                                                             └ stream, two hex digits
// The first line alone shows whether a log is stamped, as the platform does it.

/** What a line begins with, where lines are stamped. */
export interface Stamp {
  /** ms of Unix time, with microseconds as its fraction. */
  readonly at: number
  readonly stream: 'stdout' | 'stderr'
}

/** A piece of a line of the file. */
export interface Piece {
  /** Without the stamp; at most `pieceLength` characters. */
  readonly text: string
  /** What follows it in the same line, as far as it is needed to read a marker that begins in `text`. */
  readonly ahead: string
  /** Undefined where the line has none. */
  readonly stamp: Stamp | undefined
  /** The first piece of a line of its own: neither a later piece, nor continued from the line before. */
  readonly isFirst: boolean
  /** The line of the file ends after it. */
  readonly isLast: boolean
}

/** Characters of a piece, and of what is looked at beyond. A marker is shorter than `aheadLength`. */
const pieceLength = 32 * 1024
export const aheadLength = 1024

const stampPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z [0-9a-f]{2}([OE])([+ ])/
const stampLength = 32

export class LogText {
  readonly #decoder = new TextDecoder()
  readonly #onPiece: (piece: Piece) => void
  #held = ''
  #isStamped: boolean | undefined
  /** Of the line whose beginning was handed over already. */
  #begun: { readonly stamp: Stamp | undefined } | undefined

  constructor(onPiece: (piece: Piece) => void) {
    this.#onPiece = onPiece
  }

  feed(window: Uint8Array): void {
    this.#read(this.#decoder.decode(window, { stream: true }))
  }

  /** What is left is the last line. */
  end(): void {
    this.#read(this.#decoder.decode())
    if (this.#held !== '' || this.#begun !== undefined) this.#line(this.#held, 0, this.#held.length)
    this.#held = ''
  }

  /** Undefined while nothing was read. */
  get isStamped(): boolean | undefined {
    return this.#isStamped
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

  /** The rest of a line, up to its end. */
  #line(text: string, from: number, end: number): void {
    const rest = this.#pieces(text, from, end)
    const { begun, at } = this.#beginning(rest)
    this.#onPiece({ text: rest.slice(at), ahead: '', ...begun, isLast: true })
    this.#begun = undefined
  }

  /** Hands over what is certain of a long line; answers the rest of it. */
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

  /** What a piece that begins like this is, and where its text begins. */
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
