// The lines of a job's log that are kept for export: its beginning and its end, whatever is between them. What is kept is bounded by bytes,
// so that a log of any size takes no more memory than that.
import type { Place } from './sections.ts'
import type { ReadLine } from './log-reader.ts'

export interface KeptLine {
  readonly number: number
  /** ms of Unix time; undefined where the line has no stamp. */
  readonly at: number | undefined
  readonly stream: 'stdout' | 'stderr' | undefined
  readonly place: Place | undefined
  /** How many lines of the same section come before it. */
  readonly index: number
  readonly text: string
}

/** What is missing between the beginning and the end. */
export interface Missing {
  readonly lines: number
  readonly bytes: number
  /** Of the first line that is missing. */
  readonly number: number
}

type Stored = Omit<KeptLine, 'text'> & { readonly bytes: Buffer }

/** What a line costs at least, however short it is: so their number is bounded too. */
const leastCost = 40
/** Share of what is kept that is the beginning's. */
const headShare = 1 / 16

export class KeptLines {
  readonly #most: { readonly head: number; readonly tail: number }
  readonly #head: Stored[] = []
  #headBytes = 0
  /** A queue: its first `#gone` are dropped already. */
  #tail: Stored[] = []
  #gone = 0
  #tailBytes = 0
  #isHeadFull = false
  readonly #missing = { lines: 0, bytes: 0, number: 0 }
  readonly #linesIn = new Map<number, number>()

  /** `mostBytes`: of both together. */
  constructor(mostBytes: number) {
    const head = Math.floor(mostBytes * headShare)
    this.#most = { head, tail: mostBytes - head }
  }

  add({ number, stamp, text }: ReadLine, place: Place | undefined): void {
    const section = place?.ordinal ?? 0
    const index = this.#linesIn.get(section) ?? 0
    this.#linesIn.set(section, index + 1)
    // A line of its own, for a part of a large text would keep that whole.
    const bytes = Buffer.from(text)
    const line: Stored = { number, at: stamp?.at, stream: stamp?.stream, place, index, bytes }
    const cost = costOf(line)
    if (!this.#isHeadFull && this.#headBytes + cost <= this.#most.head) {
      this.#head.push(line)
      this.#headBytes += cost
      return
    }
    this.#isHeadFull = true
    this.#tail.push(line)
    this.#tailBytes += cost
    while (this.#tailBytes > this.#most.tail && this.#gone < this.#tail.length) this.#dropOldest()
    if (this.#gone > 1_000 && this.#gone > this.#tail.length / 2) {
      this.#tail = this.#tail.slice(this.#gone)
      this.#gone = 0
    }
  }

  get head(): readonly KeptLine[] {
    return this.#head.map(shown)
  }
  get tail(): readonly KeptLine[] {
    return this.#tail.slice(this.#gone).map(shown)
  }
  /** Undefined where nothing is. */
  get missing(): Missing | undefined {
    return this.#missing.lines === 0 ? undefined : this.#missing
  }

  /** How many lines there were in a section, by its ordinal; in none of them without one. */
  linesIn(section: number | undefined): number {
    return this.#linesIn.get(section ?? 0) ?? 0
  }

  #dropOldest(): void {
    const oldest = this.#tail[this.#gone]
    if (oldest === undefined) return
    this.#gone += 1
    this.#tailBytes -= costOf(oldest)
    if (this.#missing.lines === 0) this.#missing.number = oldest.number
    this.#missing.lines += 1
    this.#missing.bytes += oldest.bytes.length
  }
}

function costOf({ bytes }: Stored): number {
  return Math.max(leastCost, bytes.length)
}

function shown({ bytes, ...line }: Stored): KeptLine {
  return { ...line, text: bytes.toString() }
}
