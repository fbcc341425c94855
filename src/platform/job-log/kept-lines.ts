// Keeps the first and the last lines of a job's log for export, limited by bytes, so that the memory does not depend on the size of the log.
import { minCost, LineRing, type KeptLine } from './line-ring.ts'
import type { Place } from './sections.ts'
import type { ReadLine } from './log-reader.ts'

/** What is missing between the beginning and the end. */
export interface Missing {
  readonly lines: number
  readonly bytes: number
  /** Number of the first missing line. */
  readonly number: number
}

/** The beginning's share of what is kept. */
const headShare = 1 / 16

export class KeptLines {
  readonly #most: { readonly head: number; readonly tail: number }
  readonly #head: KeptLine[] = []
  #headBytes = 0
  #tail: LineRing | undefined
  #isHeadFull = false
  readonly #missing = { lines: 0, bytes: 0, number: 0 }
  readonly #linesIn = new Map<number, number>()

  /** `maxBytes`: of both together. */
  constructor(maxBytes: number) {
    const head = Math.floor(maxBytes * headShare)
    this.#most = { head, tail: maxBytes - head }
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
  /** Undefined if nothing is missing. */
  get missing(): Missing | undefined {
    return this.#missing.lines === 0 ? undefined : this.#missing
  }

  /** How many lines a section has, by its ordinal; undefined: outside of all sections. */
  linesIn(section: number | undefined): number {
    return this.#linesIn.get(section ?? 0) ?? 0
  }
}

function costOf({ text }: KeptLine): number {
  return Math.max(minCost, Buffer.byteLength(text))
}

/** A slice of a string keeps the whole string in memory. Concatenating and slicing makes a copy. */
function copyOf(text: string): string {
  return ` ${text}`.slice(1)
}
