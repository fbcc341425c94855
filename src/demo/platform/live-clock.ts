// The clock of a platform that is played: it runs faster than the real one, until it has caught up with it and goes on with it.
// So what is played ends now, and no time lies ahead.

export class LiveClock {
  readonly #start: number
  readonly #speed: number
  readonly #began = Date.now()
  readonly #beganAt = performance.now()

  /** `start`: what it shows at first, Unix ms, not ahead of the real time. `speed`: its seconds in a real one, 1 at least. */
  constructor(start: number, speed: number) {
    this.#start = Math.min(start, this.#began)
    this.#speed = speed
  }

  /** Unix ms. */
  get now(): number {
    const passed = performance.now() - this.#beganAt
    return Math.min(this.#start + passed * this.#speed, this.#began + passed)
  }

  /** Real ms until it shows this time; 0 where it does already. */
  until(at: number): number {
    const passed = performance.now() - this.#beganAt
    const needed = Math.max((at - this.#start) / this.#speed, at - this.#began)
    return Math.max(0, needed - passed)
  }
}
