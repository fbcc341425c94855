// A value that must not be seen: it prints as [secret] wherever somebody would print it, and is read on purpose only.
import { createHash, timingSafeEqual } from 'node:crypto'
import { inspect } from 'node:util'

export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The value itself, for the one place that sends or compares it. */
  reveal(): string {
    return this.#value
  }

  /** Constant in time whatever the candidate's length and content. */
  equals(candidate: string): boolean {
    return timingSafeEqual(digest(this.#value), digest(candidate))
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [inspect.custom](): string {
    return '[secret]'
  }
}

function digest(value: string): Buffer {
  return createHash('sha256').update(value).digest()
}
