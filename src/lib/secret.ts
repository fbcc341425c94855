// A value that must not be seen: it prints as [secret], and is read on purpose only. It registers with `redaction.ts`, which
// removes it from the texts of servers that repeat it.
import { hash, timingSafeEqual } from 'node:crypto'
import { inspect } from 'node:util'
import { keepOut } from './redaction.ts'

export class Secret {
  readonly #value: string
  #digest: Buffer | undefined

  constructor(value: string) {
    this.#value = value
    keepOut(value)
  }

  /** The value itself, for the one place that sends or compares it. */
  reveal(): string {
    return this.#value
  }

  /** In constant time, whatever the candidate's length and content. */
  equals(candidate: string): boolean {
    this.#digest ??= digest(this.#value)
    return timingSafeEqual(this.#digest, digest(candidate))
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
  return hash('sha256', value, 'buffer')
}
