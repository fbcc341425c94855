// A delivery's bytes as JSON: with or without a byte order mark, valid UTF-8 or not, and never throwing.

/** The parsed value, wrapped since `null` is a value too; undefined when the bytes are not JSON. */
export function parseJson(body: Uint8Array): { readonly json: unknown } | undefined {
  try {
    return { json: JSON.parse(new TextDecoder().decode(body)) }
  } catch {
    // The parser's own message quotes the body, and so goes nowhere.
    return undefined
  }
}
