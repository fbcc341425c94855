// The values that attributes have in OTLP: each says its own type.

/**
 * A double also where it is whole. A coverage of 88 written as an integer would change its type from one pipeline to the next, and
 * a backend that took the first value for an integer would refuse 88.5.
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

/** Whole numbers are integers and other numbers doubles. A bigint is an integer that a number need not hold, such as nanoseconds. */
export type AttributeValue = string | boolean | number | bigint | Double | readonly (string | number | boolean)[]

export interface KeyValue {
  readonly key: string
  readonly value: AttributeValue
}
