// What may be kept of a delivery that could not be understood: everything but its pipeline variables, which may be secrets.
import { parseJson } from './body-json.ts'

/** Bytes kept of a body that is not JSON. */
export const keptOfText = 4_096

/**
 * The body as JSON without any field named `variables`, however deep. What is not JSON (or nested too deeply to be written
 * again) is cut to its first 4 KiB, and before the first mention of variables.
 */
export function withoutVariables(body: Uint8Array): Uint8Array {
  const parsed = parseJson(body)
  if (parsed === undefined) return beginningOf(body)
  try {
    const text = JSON.stringify(parsed.json, (key, value: unknown) => (key === 'variables' ? undefined : value))
    return new TextEncoder().encode(text)
  } catch {
    return beginningOf(body)
  }
}

function beginningOf(body: Uint8Array): Uint8Array {
  const beginning = body.subarray(0, keptOfText)
  const variables = Buffer.from(beginning).indexOf('variables')
  return variables === -1 ? beginning : beginning.subarray(0, variables)
}
