// The lines of a job's log that are kept for export: its beginning and its end, whatever is between them. What is kept is bounded by bytes,
// so that a log of any size takes no more memory than that.
import { leastCost, LineRing, type KeptLine } from './line-ring.ts'
import type { Place } from './sections.ts'
import type { ReadLine } from './log-reader.ts'

/** What is missing between the beginning and the end. */
export interface Missing {
  readonly lines: number
  readonly bytes: number
  /** Of the first line that is missing. */
  readonly number: number
}

/** Share of what is kept that is the beginning's. */
const headShare = 1 / 16

export class KeptLines {
  readonly #most: { readonly head: number; readonly tail: number }
  readonly #head: KeptLine[] = []
  #headBytes = 0
  #tail: LineRing | undefined
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
    const line: KeptLine = { number, at: stamp?.at, stream: stamp?.stream, place, index, text }
    const cost = costOf(line)
    if (!this.#isHeadFull && this.#headBytes + cost <= this.#most.head) {
      this.#head.push({ ...line, text: copyOf(text) })
      this.#headBytes += cost
      return
    }
    this.#isHeadFull = true
    this.#tail ??= new LineRing(this.#most.tail)
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
  /** Undefined where nothing is. */
  get missing(): Missing | undefined {
    return this.#missing.lines === 0 ? undefined : this.#missing
  }

  /** How many lines there were in a section, by its ordinal; in none of them without one. */
  linesIn(section: number | undefined): number {
    return this.#linesIn.get(section ?? 0) ?? 0
  }
}

function costOf({ text }: KeptLine): number {
  return Math.max(leastCost, Buffer.byteLength(text))
}

/** A part of a text keeps all of it in memory: joined to another, and taken apart again, it is a text of its own. */
function copyOf(text: string): string {
  return ` ${text}`.slice(1)
}
