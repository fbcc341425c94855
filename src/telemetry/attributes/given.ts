// Attributes that are an object already, in protobuf: a resource's, a link's.
import type { Attributes } from '@opentelemetry/api'
import { isDoubleKey } from '../whole-doubles.ts'
import { keyBytes, writeKeyValue } from './key-value.ts'
import type { AttributeSource } from './told.ts'
import type { BackWriter } from '../back-writer.ts'

export class GivenAttributes implements AttributeSource {
  readonly #attributes: Attributes

  constructor(attributes: Attributes) {
    this.#attributes = attributes
  }

  asObject(): Attributes {
    return this.#attributes
  }

  write(writer: BackWriter, field: number): void {
    const keys = Object.keys(this.#attributes)
    for (let n = keys.length - 1; n >= 0; n -= 1) {
      const key = keys[n] ?? ''
      const value = this.#attributes[key]
      if (value !== undefined) writeKeyValue(writer, field, knownKey(key), value, isDoubleKey(key))
    }
  }
}

/** Names recur in every request. Users' own names are few; a limit guards all the same. */
const knownKeys = new Map<string, Uint8Array>()
const mostKeys = 4_096

function knownKey(key: string): Uint8Array {
  const known = knownKeys.get(key)
  if (known !== undefined) return known
  const bytes = keyBytes(key)
  if (knownKeys.size < mostKeys) knownKeys.set(key, bytes)
  return bytes
}
