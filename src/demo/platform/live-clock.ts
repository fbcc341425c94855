// The clock of a live platform: it starts in the past and runs faster than the real clock until it has caught up. So no time is ever
// in the future.

export class LiveClock {
  readonly #start: number
  readonly #speed: number
  readonly #began = Date.now()
  readonly #beganAt = performance.now()

  /** `start`: its first time, Unix ms, at most the real time. `speed`: its seconds per real second, at least 1. */
  constructor(start: number, speed: number) {
    this.#start = Math.min(start, this.#began)
    this.#speed = speed
  }

  /** Unix ms. */
  get now(): number {
    const passed = performance.now() - this.#beganAt
    return Math.min(this.#start + passed * this.#speed, this.#began + passed)
  }

  /** Real ms until it shows this time; 0 if that has passed. */
  until(at: number): number {
    const passed = performance.now() - this.#beganAt
    const needed = Math.max((at - this.#start) / this.#speed, at - this.#began)
    return Math.max(0, needed - passed)
  }
}
