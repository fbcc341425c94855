// The closed family of errors: each says what is wrong, and ends in what to do about it.
import { redact } from './redaction.ts'

/** Base of every error that this program raises on purpose. `message` is the whole sentence; `remedy` its last part. */
export abstract class Fault extends Error {
  readonly remedy: string

  constructor(what: string, remedy: string, options?: { cause?: unknown }) {
    super(`${what} ${remedy}`, options)
    this.name = new.target.name
    this.remedy = remedy
  }
}

/** The operator's configuration cannot be used. */
export class ConfigError extends Fault {}

/** The store cannot be opened, written or read. The same write may succeed the next time. */
export class StoreError extends Fault {}

/** What was to be stored breaks a rule of the store's: it would the next time as well. */
export class DataError extends Fault {}

/** The store takes writes, and does not give back what it took. */
export class UnreadableError extends StoreError {}

/** A delivery's body is not what its kind promises. */
export class PayloadError extends Fault {}

/**
 * True where what was worked on is to blame: the store refused it as data, or code that knows nothing of stores and networks
 * stumbled over it. Whatever else fails may succeed the next time.
 */
export function isOfTheData(error: unknown): boolean {
  return [DataError, PayloadError, TypeError, RangeError, SyntaxError, ReferenceError, URIError].some(
    family => error instanceof family,
  )
}

/** Text of anything thrown, without its stack, and without secrets: others may have written it. */
export function reasonOf(error: unknown): string {
  return redact(error instanceof Error ? error.message : String(error))
}
