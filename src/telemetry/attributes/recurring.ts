// A memory of what recurs, bounded, that rests while nothing does.

/** Values remembered at a time. */
const most = 512
/** A memory whose values did not recur is left alone for so many. */
const restFor = 65_536

export class Recurring<K, V> {
  readonly #known = new Map<K, V>()
  #hits = 0
  #resting = 0

  recall(key: K): V | undefined {
    if (this.#resting > 0) {
      this.#resting -= 1
      return undefined
    }
    const known = this.#known.get(key)
    if (known !== undefined) this.#hits += 1
    return known
  }

  /** False while it rests: what is made only to be remembered need not be. */
  get remembers(): boolean {
    return this.#resting === 0
  }

  remember(key: K, value: V): void {
    if (this.#known.size >= most) {
      if (this.#hits < most) this.#resting = restFor
      this.#known.clear()
      this.#hits = 0
    }
    this.#known.set(key, value)
  }
}
