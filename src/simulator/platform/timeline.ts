// A simulated clock. Scheduled events run in chronological order, and events with the same time run in the order in which they were scheduled.

interface Planned {
  readonly at: number
  readonly run: () => void
}

export class Timeline {
  #now: number
  /** The scheduled events, sorted by time so that the next event is last. */
  readonly #planned: Planned[] = []

  constructor(start: number) {
    this.#now = start
  }

  /** The Unix time of the simulated platform in ms. */
  get now(): number {
    return this.#now
  }

  /** When the next event is due, or undefined if no event is scheduled. */
  get next(): number | undefined {
    return this.#planned.at(-1)?.at
  }

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

  /** Runs all events up to `until`, including events that are scheduled meanwhile. Then sets the clock to `until`. */
  runUntil(until: number): void {
    while (this.next !== undefined && this.next <= until) this.#step()
    this.#now = Math.max(this.#now, until)
  }

  /** Runs all events, including events that are scheduled meanwhile. The clock is then at the time of the last event. */
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
