// Turns rows of a table into attributes: names in the profile's namespace, values of the row's type, subject to the attribute policy.
import { attributesFrom, AttributeTable, type AttributeSet, type NamedRow, type Typing } from './otlp/attribute.ts'
import { Double, type AttributeValue } from './otlp/attribute-value.ts'
import { isInstant } from './span-time.ts'
import { rowsIn, vendorPrefix, type AttributeRow, type RowVariant } from './mapping/row.ts'
import type { AttributePolicy } from './attribute-policy.ts'

/** The vendor namespace, the attribute policy, and the variants of rows. */
export interface AttributeStyle {
  /** With its dot. */
  readonly namespace: string
  readonly policy: AttributePolicy
  readonly variants: ReadonlySet<RowVariant>
}

/** The attributes of a subject, in the table's order. Values that are unknown or not of the row's type are left out. */
export function attributesOf<S>(rows: readonly AttributeRow<S>[], subject: S, style: AttributeStyle): AttributeSet[] {
  const { table, facts } = tableOf(rows, style)
  const values = new Array<AttributeValue | undefined>(facts.length)
  for (let n = 0; n < facts.length; n += 1) values[n] = facts[n]?.(subject)
  return [{ table, values }]
}

/** Attributes that are not in a table, such as keys that users chose; also subject to the policy. */
export function namedAttributes(
  values: Readonly<Record<string, AttributeValue>>,
  { policy }: Pick<AttributeStyle, 'policy'>,
): AttributeSet[] {
  const allowed = Object.entries(values).flatMap(([key, value]) => {
    const rule = policy(key)
    return rule === undefined ? [] : [[key, rule(value)] as const]
  })
  return attributesFrom(Object.fromEntries(allowed))
}

/** A name from a table in the profile's namespace. */
export function keyUnder(namespace: string, key: string): string {
  return key.startsWith(vendorPrefix) ? namespace + key.slice(vendorPrefix.length) : key
}

/** A table in a style: its names, and the functions that read its values. */
interface StyledTable<S> {
  readonly table: AttributeTable
  readonly facts: readonly ((subject: S) => AttributeValue | undefined)[]
}

/** There are few styles, and they live as long as the settings. */
const tablesIn = new WeakMap<AttributeStyle, Map<unknown, StyledTable<never>>>()

/** The table in this style, cached, so that names are matched against the configured patterns only once. */
function tableOf<S>(rows: readonly AttributeRow<S>[], style: AttributeStyle): StyledTable<S> {
  const tables = tablesIn.get(style) ?? new Map<unknown, StyledTable<never>>()
  const known = tables.get(rows) as StyledTable<S> | undefined
  if (known !== undefined) return known
  const own = rowsIn(rows, style.variants)
  const table = { table: new AttributeTable(own.map(row => namedRow(row, style))), facts: own.map(row => row.value) }
  tablesIn.set(style, tables.set(rows, table))
  return table
}

function namedRow<S>({ keys, type, recurs }: AttributeRow<S>, { namespace, policy }: AttributeStyle): NamedRow {
  const names = keys.flatMap(name => {
    const key = keyUnder(namespace, name)
    const rule = policy(key)
    return rule === undefined ? [] : [{ key, rule }]
  })
  return { names, typed: typings[type], recurs }
}

/** Numbers as they are exported. */
const typings: Readonly<Record<AttributeRow<unknown>['type'], Typing | undefined>> = {
  string: undefined,
  'string[]': undefined,
  bool: undefined,
  int: value => int(Number(value)),
  double: value => double(Number(value)),
  nanoseconds: value => nanoseconds(Number(value)),
}

function int(value: number): number | undefined {
  const whole = Math.round(value) + 0
  return whole >= -(2 ** 63) && whole < 2 ** 63 ? whole : undefined
}

/** From ms, rounded to microseconds: 1772442001987.25 is 1772442001987250000n. */
function nanoseconds(at: number): bigint | undefined {
  if (!isInstant(at)) return undefined
  const whole = Math.floor(at)
  return BigInt(whole * 1_000 + Math.round((at - whole) * 1_000)) * 1_000n
}

function double(value: number): Double | undefined {
  return Number.isFinite(value) ? new Double(value + 0) : undefined
}
