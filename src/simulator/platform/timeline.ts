// A simulated clock: planned events run in the order of their times. Events at the same time run in the order in which they were planned.

interface Planned {
  readonly at: number
  readonly run: () => void
}

export class Timeline {
  #now: number
  /** Sorted by time, the next one last. */
  readonly #planned: Planned[] = []

  constructor(start: number) {
    this.#now = start
  }

  /** Unix ms of the simulated platform. */
  get now(): number {
    return this.#now
  }

  /** When the next event is due; undefined when none is planned. */
  get next(): number | undefined {
    return this.#planned.at(-1)?.at
  }

  /** Plans `run` for `seconds` from now. */
  after(seconds: number, run: () => void): void {
    const at = this.#now + Math.max(0, Math.round(seconds * 1000))
    let low = 0
    let high = this.#planned.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#planned[middle]?.at ?? 0) > at) low = middle + 1
      else high = middle
    }
    this.#planned.splice(low, 0, { at, run })
  }

  /** Runs all events up to `until`, including those that are planned meanwhile. The clock then shows `until`. */
  runUntil(until: number): void {
    while (this.next !== undefined && this.next <= until) this.#step()
    this.#now = Math.max(this.#now, until)
  }

  /** Runs all events, including those that are planned meanwhile. The clock then shows the time of the last one. */
  runAll(): void {
    while (this.next !== undefined) this.#step()
  }

  #step(): void {
    const event = this.#planned.pop()
    if (event === undefined) return
    this.#now = event.at
    event.run()
  }
}
