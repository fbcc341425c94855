// Keeps the last lines of a log as bytes in one buffer, so that dropped lines leave nothing to the garbage collector.
import type { Place } from './sections.ts'

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

/** Minimum cost of a line in bytes, so that the number of short lines is limited too. */
export const minCost = 40

/** A line that was dropped; it is counted. */
export interface DroppedLine {
  readonly number: number
  readonly bytes: number
}

const streams = [undefined, 'stdout', 'stderr'] as const

export class LineRing {
  readonly #maxCost: number
  /** Twice the size of the kept lines. When the end is reached, the kept lines move to the beginning. */
  readonly #bytes: Buffer
  readonly #ends: Float64Array
  readonly #numbers: Float64Array
  readonly #times: Float64Array
  readonly #stretches: Float64Array
  readonly #indexes: Float64Array
  readonly #streams: Uint8Array
  readonly #places: KeptLine['place'][]
  /** The kept lines are those from `first` up to `next`; their bytes are those from `from` up to `to`. */
  #first = 0
  #next = 0
  #from = 0
  #to = 0
  #cost = 0

  constructor(maxCost: number) {
    this.#maxCost = maxCost
    const lines = 2 * Math.ceil(maxCost / minCost) + 2
    this.#bytes = Buffer.allocUnsafe(2 * maxCost)
    this.#ends = new Float64Array(lines)
    this.#numbers = new Float64Array(lines)
    this.#times = new Float64Array(lines)
    this.#stretches = new Float64Array(lines)
    this.#indexes = new Float64Array(lines)
    this.#streams = new Uint8Array(lines)
    this.#places = new Array<KeptLine['place']>(lines).fill(undefined)
  }

  /** Calls `onDropped` with each dropped line, oldest first. A line above the limit is dropped itself. */
  add({ number, at, stream, place, stretch, index, text }: KeptLine, onDropped: (line: DroppedLine) => void): void {
    const size = Buffer.byteLength(text)
    const cost = Math.max(minCost, size)
    while (this.#first < this.#next && this.#cost + cost > this.#maxCost) this.#dropOldest(onDropped)
    if (cost > this.#maxCost) {
      onDropped({ number, bytes: size })
      return
    }
    if (this.#to + size > this.#bytes.length || this.#next === this.#ends.length) this.#move()
    this.#bytes.write(text, this.#to)
    this.#to += size
    const n = this.#next++
    this.#ends[n] = this.#to
    this.#numbers[n] = number
    this.#times[n] = at ?? NaN
    this.#stretches[n] = stretch
    this.#indexes[n] = index
    this.#streams[n] = streams.indexOf(stream)
    this.#places[n] = place
    this.#cost += cost
  }

  *[Symbol.iterator](): Generator<KeptLine> {
    let from = this.#from
    for (let n = this.#first; n < this.#next; n += 1) {
      const [end = 0, at = NaN] = [this.#ends[n], this.#times[n]]
      yield {
        ...{ number: this.#numbers[n] ?? 0, at: Number.isNaN(at) ? undefined : at },
        ...{ stream: streams[this.#streams[n] ?? 0], place: this.#places[n] },
        ...{ stretch: this.#stretches[n] ?? 0, index: this.#indexes[n] ?? 0 },
        text: this.#bytes.toString('utf8', from, end),
      }
      from = end
    }
  }

  #dropOldest(onDropped: (line: DroppedLine) => void): void {
    const n = this.#first++
    const bytes = (this.#ends[n] ?? 0) - this.#from
    this.#from += bytes
    this.#cost -= Math.max(minCost, bytes)
    this.#places[n] = undefined
    onDropped({ number: this.#numbers[n] ?? 0, bytes })
  }

  #move(): void {
    this.#bytes.copyWithin(0, this.#from, this.#to)
    for (let n = this.#first; n < this.#next; n += 1) this.#ends[n] = (this.#ends[n] ?? 0) - this.#from
    for (const column of [this.#ends, this.#numbers, this.#times, this.#stretches, this.#indexes, this.#streams]) {
      column.copyWithin(0, this.#first, this.#next)
    }
    this.#places.copyWithin(0, this.#first, this.#next)
    this.#to -= this.#from
    this.#from = 0
    this.#next -= this.#first
    this.#first = 0
  }
}
