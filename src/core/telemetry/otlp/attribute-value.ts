// Declares the types of OTLP attribute values.

/**
 * A number that is encoded as a double even if it is whole. If a coverage of 88 were encoded as an integer, the type would change from pipeline to
 * pipeline, and a backend that received the integer first would reject 88.5.
 */
export class Double {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }

  toString(): string {
    return String(this.value)
  }
}

/**
 * The value of an attribute. Whole numbers are encoded as integers, other numbers as doubles. A bigint is an integer that exceeds the precision of a
 * number, such as a time in nanoseconds.
 */
export type AttributeValue = string | boolean | number | bigint | Double | readonly (string | number | boolean)[]

export interface KeyValue {
  readonly key: string
  readonly value: AttributeValue
}
