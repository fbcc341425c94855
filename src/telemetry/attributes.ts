// From the rows of a table to attributes: names under the profile's namespace, values of the row's type, as the operator allows.
import { AttributeNames, type Attribute, type Conversion } from './otlp/attribute.ts'
import { Double, type AttributeValue } from './otlp/attribute-value.ts'
import { isInstant } from './span-time.ts'
import { vendorPrefix, type AttributeRow } from './mapping/row.ts'
import type { AttributePolicy } from './attribute-policy.ts'

/** How a table's names and values are exported: under whose vendor namespace, and what the operator leaves out. */
export interface AttributeStyle {
  /** With its dot. */
  readonly namespace: string
  readonly policy: AttributePolicy
}

/** The attributes of a subject, in the table's order; what is unknown or not of the row's type is left out. */
export function attributesOf<S>(rows: readonly AttributeRow<S>[], subject: S, style: AttributeStyle): Attribute[] {
  const names = namesOf(rows, style)
  const attributes: Attribute[] = []
  for (let n = 0; n < rows.length; n += 1) {
    const own = names[n]
    const value = rows[n]?.value(subject)
    if (own !== undefined && value !== undefined) attributes.push({ names: own, value })
  }
  return attributes
}

/** A name of a table under the profile's namespace. */
export function keyUnder(namespace: string, key: string): string {
  return key.startsWith(vendorPrefix) ? namespace + key.slice(vendorPrefix.length) : key
}

/** Styles are few and live as long as the settings do. */
const namesUnder = new WeakMap<AttributeStyle, Map<unknown, readonly AttributeNames[]>>()

/** The names of the rows in this style, put together and matched against the operator's patterns only once. */
function namesOf<S>(rows: readonly AttributeRow<S>[], style: AttributeStyle): readonly AttributeNames[] {
  const tables = namesUnder.get(style) ?? new Map<unknown, readonly AttributeNames[]>()
  const names =
    tables.get(rows) ??
    rows.map(({ keys, type, recurs }) => {
      const allowed = keys.flatMap(name => {
        const key = keyUnder(style.namespace, name)
        const rule = style.policy(key)
        if (rule === undefined) return []
        const convert: Conversion = value => {
          const typed = ofType(type, value)
          return typed === undefined ? undefined : rule(typed)
        }
        return [[key, convert] as const]
      })
      return new AttributeNames(allowed, recurs)
    })
  namesUnder.set(style, tables.set(rows, names))
  return names
}

function ofType(type: AttributeRow<unknown>['type'], value: AttributeValue): AttributeValue | undefined {
  if (typeof value !== 'number') return value
  if (type === 'nanoseconds') return nanoseconds(value)
  return type === 'double' ? double(value) : int(value)
}

/** A whole number within 64 bits. */
function int(value: number): number | undefined {
  const whole = Math.round(value) + 0
  return whole >= -(2 ** 63) && whole < 2 ** 63 ? whole : undefined
}

/** Of an instant in ms, to its nearest microsecond: 1772442001987.25 is 1772442001987250000n. */
function nanoseconds(at: number): bigint | undefined {
  if (!isInstant(at)) return undefined
  const whole = Math.floor(at)
  return BigInt(whole * 1_000 + Math.round((at - whole) * 1_000)) * 1_000n
}

function double(value: number): Double | undefined {
  return Number.isFinite(value) ? new Double(value + 0) : undefined
}
