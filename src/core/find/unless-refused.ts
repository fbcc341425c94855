// Requests that a token may not be allowed to make, and whose answers are not essential.
import { PlatformError } from '../../platform/port.ts'

/** Undefined if the token may not read this, or the platform does not have it. */
export async function unlessRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof PlatformError && isRefusal(error)) return undefined
    throw error
  }
}

/** True if the platform refuses this request, but may answer others. */
export function isRefusal({ kind }: PlatformError): boolean {
  return kind === 'not-found' || kind === 'forbidden' || kind === 'refused'
}

/** True if every request may be refused alike, or only this one: the platform, or a proxy before it, does not say. */
export function mayConcernAll(error: unknown): error is PlatformError {
  return error instanceof PlatformError && (error.kind === 'unauthorized' || error.kind === 'not-the-api')
}

/** After so many such refusals in a row, they concern every request. */
export const maxRefusals = 3
