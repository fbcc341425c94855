// The encoder of a store, which is set once the configuration is known.
import type { EncodeMessages } from '../ports/outbox.ts'

export interface Encoder {
  readonly encode: EncodeMessages
  readonly encodeWith: (encode: EncodeMessages) => void
}

export function createEncoder(): Encoder {
  let current: EncodeMessages | undefined
  return {
    encode: (chunk, to) => {
      if (to.length === 0) return []
      if (current === undefined) throw new Error('nothing was set that encodes what is sent')
      return current(chunk, to)
    },
    encodeWith: encode => {
      current = encode
    },
  }
}
