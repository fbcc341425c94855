// A delivery's bytes as JSON: with or without a byte order mark, valid UTF-8 or not, and never throwing.
import { NotJson } from './json-walk.ts'
import { pickJson } from './json-pick.ts'
import type { Shape } from './wire-shape.ts'

/** So large a body is read selectively: of a smaller one `JSON.parse` makes a few MB at most, and is quicker. */
export const largeBody = 256 * 1024

/**
 * The parsed value, wrapped since `null` is a value too; undefined when the bytes are not JSON. Of one that has `large` bytes
 * only what the shape names is built.
 */
export function parseJson(body: Uint8Array, shape: Shape, large = largeBody): { readonly json: unknown } | undefined {
  try {
    return { json: body.length < large ? JSON.parse(new TextDecoder().decode(body)) : pickJson(body, shape) }
  } catch (error) {
    // The parser's own message quotes the body, and so goes nowhere.
    if (error instanceof SyntaxError || error instanceof NotJson) return undefined
    throw error
  }
}
