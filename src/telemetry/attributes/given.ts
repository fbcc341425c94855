// Attributes that are an object already, in protobuf: a user's own of a resource, a link's.
import type { Attributes } from '@opentelemetry/api'
import { isDoubleKey } from '../whole-doubles.ts'
import { AttributeName } from './key-value.ts'
import type { AttributeSource } from './told.ts'
import type { BackWriter } from '../otlp/back-writer.ts'

export class GivenAttributes implements AttributeSource {
  readonly #attributes: Attributes
  readonly #field: number

  /** `field`: their number in the message around. */
  constructor(attributes: Attributes, field: number) {
    this.#attributes = attributes
    this.#field = field
  }

  asObject(): Attributes {
    return this.#attributes
  }

  write(writer: BackWriter): void {
    const keys = Object.keys(this.#attributes)
    for (let n = keys.length - 1; n >= 0; n -= 1) {
      const key = keys[n] ?? ''
      const value = this.#attributes[key]
      if (value !== undefined) nameOf(key, this.#field).write(writer, value)
    }
  }
}

/** Names recur in every request. Users' own names are few; a limit guards all the same. */
const known = new Map<number, Map<string, AttributeName>>()
const mostNames = 4_096

function nameOf(key: string, field: number): AttributeName {
  const names = known.get(field) ?? new Map<string, AttributeName>()
  const name = names.get(key) ?? new AttributeName(key, field, isDoubleKey(key) ? 'double' : 'int')
  if (names.size < mostNames) known.set(field, names.set(key, name))
  return name
}
