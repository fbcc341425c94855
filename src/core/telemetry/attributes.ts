// Turns the rows of a table into attributes, with names in the profile's namespace and values of the row's type. The configured policy applies to the
// attributes of all signals: it drops, hashes or truncates some of them.
import { createHash } from 'node:crypto'
import { globs } from '../../lib/chooser.ts'
import { attributesFrom, AttributeTable, type AttributeSet, type NamedRow, type Typing } from './otlp/attribute.ts'
import { Double, type AttributeValue } from './otlp/attribute-value.ts'
import { isInstant } from './span-time.ts'
import { rowsIn, vendorPrefix, type AttributeRow, type RowVariant } from './mapping/row.ts'

/** How attributes are exported: the vendor namespace, the attribute policy, and the row variants. */
export interface AttributeStyle {
  /** The vendor namespace, with the trailing dot. */
  readonly namespace: string
  readonly policy: AttributePolicy
  readonly variants: ReadonlySet<RowVariant>
}

/** Returns a subject's attributes, in table order. Values that are unknown or of the wrong type are omitted. */
export function attributesOf<S>(rows: readonly AttributeRow<S>[], subject: S, style: AttributeStyle): AttributeSet[] {
  const { table, facts } = tableOf(rows, style)
  const values = new Array<AttributeValue | undefined>(facts.length)
  for (let n = 0; n < facts.length; n += 1) values[n] = facts[n]?.(subject)
  return [{ table, values }]
}

/**
 * Returns attributes that are not in an attribute table, such as attributes whose names users choose. The attribute policy applies to them as well.
 */
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

/** Returns an attribute name from a table, in the profile's namespace. */
export function keyUnder(namespace: string, key: string): string {
  return key.startsWith(vendorPrefix) ? namespace + key.slice(vendorPrefix.length) : key
}

/** A table of attributes in one style: the exported names, and the functions that read the values. */
interface StyledTable<S> {
  readonly table: AttributeTable
  readonly facts: readonly ((subject: S) => AttributeValue | undefined)[]
}

/** Caches the attribute tables of each style. Nothing is ever removed, because there are only a few styles, which exist as long as the settings. */
const tablesIn = new WeakMap<AttributeStyle, Map<unknown, StyledTable<never>>>()

/** Returns the table in this style. It is cached, so that the configured patterns are matched only once per name. */
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

/** Converts numbers to the form in which they are exported. */
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

/** Converts ms to nanoseconds, rounded to microseconds: 1772442001987.25 becomes 1772442001987250000n. */
function nanoseconds(at: number): bigint | undefined {
  if (!isInstant(at)) return undefined
  const whole = Math.floor(at)
  return BigInt(whole * 1_000 + Math.round((at - whole) * 1_000)) * 1_000n
}

function double(value: number): Double | undefined {
  return Number.isFinite(value) ? new Double(value + 0) : undefined
}

export interface AttributePolicyOptions {
  /** Names or glob patterns of attributes to drop. They take precedence over `hash`. */
  readonly drop?: readonly string[] | undefined
  /** Names or glob patterns of attributes whose values are replaced with a digest. */
  readonly hash?: readonly string[] | undefined
  /** The maximum length of a string value, in UTF-16 code units. The default is 4096. */
  readonly valueLengthLimit?: number | undefined
}

/** Changes the value of an attribute before export. */
type AttributeRule = (value: AttributeValue) => AttributeValue

/** Returns the rule for an exported attribute name, which includes the vendor namespace. Undefined if the attribute is dropped. */
export type AttributePolicy = (key: string) => AttributeRule | undefined

export const defaultValueLengthLimit = 4096

export function attributePolicy(options: AttributePolicyOptions): AttributePolicy {
  const limit = options.valueLengthLimit ?? defaultValueLengthLimit
  const isDropped = globs(options.drop ?? [])
  const isHashed = globs(options.hash ?? [])
  const cuts: AttributeRule = value => shortened(value, limit)
  const hashes: AttributeRule = value => cuts(digestOf(value))
  return key => {
    if (isDropped(key)) return undefined
    return isHashed(key) ? hashes : cuts
  }
}

/**
 * Returns the first 16 bytes of the SHA-256 of the value's string form, as hex. Equal values have equal digests, so they can still be counted. The
 * string form of an array is its JSON.
 */
function digestOf(value: AttributeValue): string {
  const text = isList(value) ? JSON.stringify(value) : String(value)
  return createHash('sha256').update(text).digest().toString('hex', 0, 16)
}

function shortened(value: AttributeValue, limit: number): AttributeValue {
  if (typeof value === 'string') return cut(value, limit)
  return isList(value) ? value.map(item => (typeof item === 'string' ? cut(item, limit) : item)) : value
}

/** Truncates a string to the limit. Never splits a code point, because not all backends accept invalid UTF-8. */
export function cut(text: string, limit: number): string {
  const whole = text.toWellFormed()
  if (whole.length <= limit) return whole
  const last = whole.charCodeAt(limit - 1)
  return whole.slice(0, last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit)
}

function isList(value: AttributeValue): value is Extract<AttributeValue, readonly unknown[]> {
  return Array.isArray(value)
}
