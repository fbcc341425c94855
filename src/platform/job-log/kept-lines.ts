// Keeps the first and the last lines of a job's log for export. Both are limited in bytes, so that a long log needs no more memory.
import type { Place } from './sections.ts'
import type { ReadLine } from './log-reader.ts'

export interface KeptLine {
  readonly number: number
  /** ms of Unix time: the line's timestamp. If it has none, the latest one before it; undefined if there is none. */
  readonly at: number | undefined
  /** Undefined if the line has no timestamp. */
  readonly stream: 'stdout' | 'stderr' | undefined
  readonly place: Place | undefined
  /** The stretch of the log (`sections.ts`), and the number of its lines before this one. */
  readonly stretch: number
  readonly index: number
  readonly text: string
}

/** The lines that were dropped between the first and the last ones. */
export interface Missing {
  readonly lines: number
  readonly bytes: number
  /** Number of the first dropped line. */
  readonly number: number
}

/** The share of the kept bytes that is reserved for the first lines. */
const headShare = 1 / 16
/** Minimum cost of a line in bytes, so that the number of short lines is limited too. */
const minCost = 40

export class KeptLines {
  readonly #limits: { readonly head: number; readonly tail: number }
  readonly #head: KeptLine[] = []
  #headBytes = 0
  #isHeadFull = false
  /** The last lines begin at `#first`; those before were dropped. */
  readonly #tail: (Sized | undefined)[] = []
  #first = 0
  #tailBytes = 0
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
    const line: KeptLine = { number, at, stream: stamp?.stream, place, stretch, index, text: copyOf(text) }
    const bytes = Buffer.byteLength(text)
    const cost = Math.max(minCost, bytes)
    if (!this.#isHeadFull && this.#headBytes + cost <= this.#limits.head) {
      this.#head.push(line)
      this.#headBytes += cost
      return
    }
    this.#isHeadFull = true
    this.#tail.push({ line, bytes })
    this.#tailBytes += cost
    while (this.#tailBytes > this.#limits.tail) this.#dropOldest()
  }

  get head(): readonly KeptLine[] {
    return this.#head
  }
  get tail(): readonly KeptLine[] {
    return this.#tail.slice(this.#first).flatMap(one => one?.line ?? [])
  }
  /** Undefined if no line was dropped. */
  get missing(): Missing | undefined {
    return this.#missing.lines === 0 ? undefined : this.#missing
  }

  /** The number of lines in a stretch, dropped ones included. */
  linesIn(stretch: number): number {
    return this.#linesIn[stretch] ?? 0
  }

  #dropOldest(): void {
    const oldest = this.#tail[this.#first]
    if (oldest === undefined) return
    this.#tail[this.#first] = undefined
    this.#first += 1
    if (this.#first >= maxDropped) {
      this.#tail.splice(0, this.#first)
      this.#first = 0
    }
    this.#tailBytes -= Math.max(minCost, oldest.bytes)
    if (this.#missing.lines === 0) this.#missing.number = oldest.line.number
    this.#missing.lines += 1
    this.#missing.bytes += oldest.bytes
  }
}

/** Dropped lines are removed from the list in batches of this many, because each removal moves all lines that follow. */
const maxDropped = 10_000

interface Sized {
  readonly line: KeptLine
  readonly bytes: number
}

/** Copies a text by concatenating and slicing, because a plain slice keeps the whole string in memory. */
function copyOf(text: string): string {
  return ` ${text}`.slice(1)
}
