// Parses a delivery's bytes as JSON, with or without a byte order mark, even if they are not valid UTF-8.
import { NotJson } from './json-walk.ts'
import { pickJson } from './json-pick.ts'
import type { Shape } from './wire-shape.ts'
import type { Turns } from './turns.ts'

/** Larger bodies are parsed selectively. For smaller ones `JSON.parse` is quicker and needs a few MB at most. */
export const largeBody = 256 * 1024

const decoder = new TextDecoder()

/**
 * The parsed value, wrapped because it may be `null`; undefined if the bytes are not JSON. From `large` bytes on, only what the shape names is built.
 */
export function* parseJson(
  body: Uint8Array,
  shape: Shape,
  large = largeBody,
): Turns<{ readonly json: unknown } | undefined> {
  try {
    return { json: body.length < large ? JSON.parse(decoder.decode(body)) : yield* pickJson(body, shape) }
  } catch (error) {
    // The parser's own message is not used, as it quotes the body.
    if (error instanceof SyntaxError || error instanceof NotJson) return undefined
    throw error
  }
}
