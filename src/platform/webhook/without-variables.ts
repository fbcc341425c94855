// Removes pipeline variables, which may be secrets, from a delivery that could not be decoded, so that it can be stored.

/** Bytes that are kept of a body that is not JSON. */
export const keptOfText = 4_096

const decoder = new TextDecoder()

/**
 * The body without fields named `variables`, at any depth. A body that is not JSON, or is nested too deeply to be written again, is cut to its first
 * 4 KiB, and before the word `variables`.
 */
export function withoutVariables(body: Uint8Array): Uint8Array {
  try {
    const json: unknown = JSON.parse(decoder.decode(body))
    return Buffer.from(JSON.stringify(json, (key, value: unknown) => (key === 'variables' ? undefined : value)))
  } catch {
    return beginningOf(body)
  }
}

function beginningOf(body: Uint8Array): Uint8Array {
  const beginning = body.subarray(0, keptOfText)
  const variables = Buffer.from(beginning).indexOf('variables')
  return variables === -1 ? beginning : beginning.subarray(0, variables)
}
