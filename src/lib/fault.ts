// The closed set of error classes. Each message describes the problem and ends with a remedy.
import { redact } from './secret.ts'

/** The base class of every error that this program throws on purpose. `message` is the whole message, and `remedy` is its last part. */
export abstract class Fault extends Error {
  readonly remedy: string

  constructor(what: string, remedy: string, options?: { cause?: unknown }) {
    super(`${what} ${remedy}`, options)
    this.name = new.target.name
    this.remedy = remedy
  }
}

/** Thrown if the operator's configuration cannot be used. */
export class ConfigError extends Fault {}

/** Thrown if the store cannot be opened, written or read. A retry may succeed. */
export class StoreError extends Fault {}

/** Thrown if the database rejects the data itself: a retry would fail in the same way. */
export class DataError extends Fault {}

/** Thrown if the files of the open store were removed or replaced, so new data would be lost. */
export class StoreGone extends StoreError {}

/** Thrown if the body of a delivery cannot be decoded. */
export class PayloadError extends Fault {}

/**
 * Whether the data caused the error: the store rejected the data, or pure code failed on it. Data that causes an error is set aside. Any other error
 * may disappear on a retry.
 */
export function isOfTheData(error: unknown): boolean {
  return [DataError, PayloadError, TypeError, RangeError, SyntaxError, ReferenceError, URIError].some(
    family => error instanceof family,
  )
}

/** Returns the message of any thrown value. It is redacted, because the message may come from a server. */
export function reasonOf(error: unknown): string {
  return redact(error instanceof Error ? error.message : String(error))
}
