// Keeps the first and the last lines of a job's log for export. Both are limited in bytes, so that memory use does not grow with the length of the
// log.
import type { Place } from './sections.ts'
import type { ReadLine } from './log-reader.ts'

export interface KeptLine {
  readonly number: number
  /** The line's timestamp in Unix ms. If the line has none, the latest timestamp before it; undefined if there is none either. */
  readonly at: number | undefined
  /** The stream that the line was written to; undefined if the line has no timestamp. */
  readonly stream: 'stdout' | 'stderr' | undefined
  readonly place: Place | undefined
  /** The stretch of the log that contains the line (`sections.ts`). `index`: the number of lines in the stretch before this one. */
  readonly stretch: number
  readonly index: number
  readonly text: string
}

/** Describes the lines that were dropped between the first and the last kept lines. */
export interface Missing {
  readonly lines: number
  readonly bytes: number
  /** Number of the first dropped line. */
  readonly number: number
}

/** The fraction of the kept bytes that is reserved for the first lines. */
const headShare = 1 / 16
/** Each line counts as at least this many bytes, so that the number of short lines is limited too. */
const minCost = 40

export class KeptLines {
  readonly #limits: { readonly head: number; readonly tail: number }
  readonly #head: KeptLine[] = []
  #headBytes = 0
  #isHeadFull = false
  /** The last lines of the log. They start at index `#first`; the entries before it were dropped. */
  readonly #tail: (Sized | undefined)[] = []
  #first = 0
  #tailBytes = 0
  readonly #missing = { lines: 0, bytes: 0, number: 0 }
  readonly #linesIn: number[] = []
  /** The latest timestamp read so far. */
  #stamped: number | undefined

  /** `maxBytes`: maximum total size of the first and the last lines, bytes. */
  constructor(maxBytes: number) {
    const head = Math.floor(maxBytes * headShare)
    this.#limits = { head, tail: maxBytes - head }
  }

  /** Adds a line. `stretch`: the stretch of the log that contains the line, see `sections.ts`. */
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
  /** The lines that were dropped between the first and the last lines. Undefined if no line was dropped. */
  get missing(): Missing | undefined {
    return this.#missing.lines === 0 ? undefined : this.#missing
  }

  /** The number of lines in a stretch of the log, including dropped lines. */
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

/**
 * Number of dropped lines after which they are removed from the list. They are removed in batches, because each removal moves all remaining lines.
 */
const maxDropped = 10_000

interface Sized {
  readonly line: KeptLine
  readonly bytes: number
}

/** Copies a string by concatenating and slicing. A plain slice would keep the whole original string in memory. */
function copyOf(text: string): string {
  return ` ${text}`.slice(1)
}
