// How attributes are declared: a table a signal's subject, from which both the attributes and their reference are made.
import type { Attributes } from '@opentelemetry/api'
import { NumberedText } from './attributes/numbered-text.ts'
import type { AttributePolicy, AttributeValue } from './attribute-policy.ts'
import { isInstant } from './span-time.ts'
import type { Thing } from './attributes/things.ts'

interface RowOf<S, T extends string, V> {
  /**
   * The names that carry this value: the legacy one first where there is one, then those of the conventions or the vendor.
   * Vendor names are written under `platform.`; a profile's namespace takes its place.
   */
  readonly keys: readonly [string, ...string[]]
  readonly type: T
  /** Presence, and what a reader must know beyond the name, for the reference. */
  readonly when: string
  readonly note?: string
  readonly value: (subject: S) => V | undefined
  /** The same for rows after each other about one thing that recurs, known by the first row's value. */
  readonly of?: Thing<S>
}

export type AttributeRow<S> =
  | RowOf<S, 'string', string | NumberedText>
  | RowOf<S, 'string[]', readonly string[]>
  | RowOf<S, 'int', number>
  /** An instant in ms. It leaves as an integer of nanoseconds since 1970, more than a number holds: our own protobuf has them exact. */
  | RowOf<S, 'nanoseconds', number>
  | RowOf<S, 'double', number>
  | RowOf<S, 'bool', boolean>

/** How a table's names and values leave: under whose vendor namespace, and what the operator leaves out. */
export interface AttributeStyle {
  /** With its dot. */
  readonly namespace: string
  readonly policy: AttributePolicy
}

/** The prefix that vendor names have in the tables. */
export const vendorPrefix = 'platform.'

/** Names under a namespace, made once: a string put together anew for each span is slow as the key of an object. */
const namesUnder = new Map<string, Map<string, string>>()

/** A name of a table under the profile's namespace. */
export function keyUnder(namespace: string, key: string): string {
  if (namespace === vendorPrefix || !key.startsWith(vendorPrefix)) return key
  const names = namesUnder.get(namespace) ?? new Map<string, string>()
  if (names.size === 0) namesUnder.set(namespace, names)
  const name = names.get(key) ?? namespace + key.slice(vendorPrefix.length)
  names.set(key, name)
  return name
}

/** The attributes of a subject, in the table's order; what is unknown or not of the row's type is left out. */
export function attributesOf<S>(rows: readonly AttributeRow<S>[], subject: S, style: AttributeStyle): Attributes {
  const attributes: Attributes = {}
  for (const row of rows) {
    const told = row.value(subject)
    const value = typed(row.type, told instanceof NumberedText ? told.toString() : told)
    if (value === undefined) continue
    for (const key of row.keys) {
      const name = keyUnder(style.namespace, key)
      const rule = style.policy(name)
      if (rule !== undefined) attributes[name] = rule(value)
    }
  }
  return attributes
}

/** Whole milliseconds of a number of seconds. */
export function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000
}

/** The text where there is any. */
export function notBlank(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text
}

/** What a row tells of a subject, undefined where it is not of the row's type; nanoseconds as microseconds. */
export function tellerOf<S>({
  type,
  value,
}: AttributeRow<S>): (subject: S) => AttributeValue | NumberedText | undefined {
  if (type === 'int') return subject => int(value(subject))
  if (type === 'nanoseconds') return subject => microseconds(value(subject))
  return type === 'double' ? subject => double(value(subject)) : value
}

function typed(type: AttributeRow<unknown>['type'], value: AttributeValue | undefined): AttributeValue | undefined {
  switch (type) {
    case 'int':
      return int(value as number | undefined)
    case 'nanoseconds':
      return nanoseconds(microseconds(value as number | undefined))
    case 'double':
      return double(value as number | undefined)
    case 'string[]':
    case 'string':
    case 'bool':
      return value
  }
}

/** A whole number within 64 bits: what the serializer writes as an integer. */
function int(value: number | undefined): number | undefined {
  if (value === undefined) return undefined
  const whole = Math.round(value) + 0
  return whole >= -(2 ** 63) && whole < 2 ** 63 ? whole : undefined
}

/** Of an instant in ms: its nearest whole microsecond, which a number holds. */
function microseconds(at: number | undefined): number | undefined {
  if (!isInstant(at)) return undefined
  const whole = Math.floor(at)
  return whole * 1_000 + Math.round((at - whole) * 1_000)
}

/** The nearest number, whose shortest decimal is the exact one where that has no more than 15 digits before its zeros. */
export function nanoseconds(micros: number | undefined): number | undefined {
  return micros === undefined ? undefined : micros * 1_000
}

/** A number that can be written as a double even when it is whole (see `whole-doubles.ts`): above 2^52 all doubles are whole. */
function double(value: number | undefined): number | undefined {
  return value !== undefined && Math.abs(value) < 2 ** 52 ? value + 0 : undefined
}
