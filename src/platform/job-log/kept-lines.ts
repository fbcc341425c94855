// Keeps the first and the last lines of a job's log for export. Both are limited in bytes, so that a long log needs no more memory.
import { minCost, LineRing, type KeptLine } from './line-ring.ts'
import type { Place } from './sections.ts'
import type { ReadLine } from './log-reader.ts'

/** The lines that were dropped between the first and the last ones. */
export interface Missing {
  readonly lines: number
  readonly bytes: number
  /** Number of the first dropped line. */
  readonly number: number
}

/** The share of the kept bytes that is reserved for the first lines. */
const headShare = 1 / 16

export class KeptLines {
  readonly #limits: { readonly head: number; readonly tail: number }
  readonly #head: KeptLine[] = []
  #headBytes = 0
  #tail: LineRing | undefined
  #isHeadFull = false
  readonly #missing = { lines: 0, bytes: 0, number: 0 }
  readonly #linesIn: number[] = []
  /** The latest timestamp. */
  #stamped: number | undefined

  /** `maxBytes`: limit of the first and the last lines together. */
  constructor(maxBytes: number) {
    const head = Math.floor(maxBytes * headShare)
    this.#limits = { head, tail: maxBytes - head }
  }

  /** `stretch`: of the log, see `sections.ts`. */
  add({ number, stamp, text }: ReadLine, place: Place | undefined, stretch = 0): void {
    const index = this.#linesIn[stretch] ?? 0
    this.#linesIn[stretch] = index + 1
    if (stamp !== undefined) this.#stamped = Math.max(stamp.at, this.#stamped ?? stamp.at)
    const at = stamp?.at ?? this.#stamped
    const line: KeptLine = { number, at, stream: stamp?.stream, place, stretch, index, text }
    const cost = costOf(line)
    if (!this.#isHeadFull && this.#headBytes + cost <= this.#limits.head) {
      this.#head.push({ ...line, text: copyOf(text) })
      this.#headBytes += cost
      return
    }
    this.#isHeadFull = true
    this.#tail ??= new LineRing(this.#limits.tail)
    this.#tail.add(line, gone => {
      if (this.#missing.lines === 0) this.#missing.number = gone.number
      this.#missing.lines += 1
      this.#missing.bytes += gone.bytes
    })
  }

  get head(): readonly KeptLine[] {
    return this.#head
  }
  get tail(): readonly KeptLine[] {
    return [...(this.#tail ?? [])]
  }
  /** Undefined if no line was dropped. */
  get missing(): Missing | undefined {
    return this.#missing.lines === 0 ? undefined : this.#missing
  }

  /** The number of lines in a stretch, dropped ones included. */
  linesIn(stretch: number): number {
    return this.#linesIn[stretch] ?? 0
  }
}

function costOf({ text }: KeptLine): number {
  return Math.max(minCost, Buffer.byteLength(text))
}

/** Copies a text by concatenating and slicing, because a plain slice keeps the whole string in memory. */
function copyOf(text: string): string {
  return ` ${text}`.slice(1)
}
