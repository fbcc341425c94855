// OTLP attributes: tables of attribute names, and values for these names.
import { anyValue, headOf, readAttribute, writeAttribute, type Kind } from './kinds.ts'
import { Double, type AttributeValue, type KeyValue } from './attribute-value.ts'
import type { Attributes } from '@opentelemetry/api'
import type { BackWriter } from './back-writer.ts'

/** Values in the order of a table's rows. If a row has no value, its entry is undefined. */
export type RowValues = readonly (AttributeValue | undefined)[]

/** The values of a table's rows. A value may be encoded under several names, such as `job.name` and `cicd.pipeline.task.name`. */
export interface AttributeSet {
  readonly table: AttributeTable
  readonly values: RowValues
}

/** Converts a value for export. Returns undefined if the value is left out. */
export type Typing = (value: AttributeValue) => AttributeValue | undefined

/** A table row, with the attribute names under which its value is encoded. */
export interface NamedRow {
  readonly names: readonly { readonly key: string; readonly rule?: (value: AttributeValue) => AttributeValue }[]
  readonly typed?: Typing | undefined
  /**
   * Set if the row often has the same value as in an earlier record, so that its encoding is worth caching. Adjacent rows with the same `recurs` are
   * cached as one group.
   */
  readonly recurs?: true | string | undefined
}

/**
 * The limits of the cache for a group of adjacent rows: the number of distinct values of the group's first row, the number of entries for each of
 * them, and the UTF-16 units per entry.
 */
const maxFirst = 512
const maxOfFirst = 4
const maxLength = 1_024

/** The encoded values of a group of adjacent rows. */
interface Written {
  readonly values: RowValues
  readonly bytes: Uint8Array
}

/**
 * A group of rows that are encoded together: a single row, or several adjacent rows that are cached as one group. Rows and names are in encoding
 * order, which is back to front.
 */
interface Run {
  readonly from: number
  readonly to: number
  readonly rows: readonly {
    readonly at: number
    readonly typed: Typing | undefined
    readonly names: readonly (NamedRow['names'][number] & { readonly head: Uint8Array })[]
  }[]
  /** The cache of encoded groups: by protobuf tag, then by the value of the group's first row, with the newest entries first. */
  readonly written: Map<AttributeValue | undefined, Written[]>[] | undefined
}

/** The attribute names of a table's rows, with a cache of encoded values. */
export class AttributeTable {
  readonly #rows: readonly NamedRow[]
  readonly #runs: readonly Run[]

  constructor(rows: readonly NamedRow[]) {
    this.#rows = rows
    const starts = rows.flatMap(({ recurs }, n) => (recurs !== undefined && recurs === rows[n - 1]?.recurs ? [] : [n]))
    this.#runs = starts.map((from, n) => runOf(rows, from, starts[n + 1] ?? rows.length)).reverse()
  }

  keyValues(values: RowValues): KeyValue[] {
    return this.#rows.flatMap(({ names, typed }, n) => {
      const value = exported(values[n], typed)
      return value === undefined ? [] : names.map(({ key, rule }) => ({ key, value: rule ? rule(value) : value }))
    })
  }

  write(writer: BackWriter, tag: number, values: RowValues): void {
    for (const run of this.#runs) {
      if (run.written === undefined) writeAnew(writer, tag, values, run)
      else writeKnown(writer, tag, values, run, run.written)
    }
  }
}

function runOf(rows: readonly NamedRow[], from: number, to: number): Run {
  const own = rows.slice(from, to).map(({ names, typed }, n) => {
    return { at: from + n, typed, names: names.map(name => ({ ...name, head: headOf(name.key) })).reverse() }
  })
  return { from, to, rows: own.reverse(), written: rows[from]?.recurs === undefined ? undefined : [] }
}

function writeAnew(writer: BackWriter, tag: number, values: RowValues, { rows }: Run): void {
  for (const { at, typed, names } of rows) {
    const value = exported(values[at], typed)
    if (value === undefined) continue
    for (const { head, rule } of names) writeAttribute(writer, tag, head, rule ? rule(value) : value)
  }
}

/** Writes the cached encoding if all values of the group are equal to the cached values. */
function writeKnown(
  writer: BackWriter,
  tag: number,
  values: RowValues,
  run: Run,
  written: NonNullable<Run['written']>,
) {
  const byFirst = (written[tag] ??= new Map<AttributeValue | undefined, Written[]>())
  const first = values[run.from]
  const known = byFirst.get(first) ?? []
  for (const one of known) {
    if (areSame(one.values, values, run.from)) {
      writer.bytes(one.bytes)
      return
    }
  }
  const before = writer.written
  writeAnew(writer, tag, values, run)
  const own = values.slice(run.from, run.to)
  if (own.reduce(longer, 0) > maxLength) return
  if (byFirst.size >= maxFirst) byFirst.clear()
  byFirst.set(first, [{ values: own, bytes: writer.since(before) }, ...known.slice(0, maxOfFirst - 1)])
}

function exported(value: AttributeValue | undefined, typed: Typing | undefined): AttributeValue | undefined {
  return value === undefined || typed === undefined ? value : typed(value)
}

/** Whether the cached values are equal to the values that begin at index `from`. */
function areSame(run: RowValues, values: RowValues, from: number): boolean {
  for (let n = 0; n < run.length; n += 1) {
    const value = run[n]
    if (value !== values[from + n] && !areSameLists(value, values[from + n])) return false
  }
  return true
}

function areSameLists(a: AttributeValue | undefined, b: AttributeValue | undefined): boolean {
  return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, n) => item === b[n])
}

function longer(length: number, value: AttributeValue | undefined): number {
  return length + (Array.isArray(value) ? value.join().length : typeof value === 'string' ? value.length : 1)
}

export function attributesFrom(object: Readonly<Record<string, AttributeValue>>): AttributeSet[] {
  const rows = Object.keys(object).map((key): NamedRow => ({ names: [{ key }] }))
  return [{ table: new AttributeTable(rows), values: Object.values(object) }]
}

export function keyValuesOf(attributes: readonly AttributeSet[]): KeyValue[] {
  return attributes.flatMap(({ table, values }) => table.keyValues(values))
}

export const attributes: Kind<readonly AttributeSet[]> = {
  wire: anyValue.wire,
  write(writer, tag, sets) {
    for (const { table, values } of sets.toReversed()) table.write(writer, tag, values)
  },
  read: (reader, before = []) => {
    ;(before as AttributeSet[]).push(...attributesFrom(Object.fromEntries([readAttribute(reader)])))
    return before
  },
  absent: [],
  json: sets => keyValuesOf(sets).map(({ key, value }) => ({ key, value: anyValue.json(value) })),
}

/** Returns the attributes as an object with plain numbers, for display and comparison. */
export function plainAttributes(attributes: readonly AttributeSet[]): Attributes {
  return Object.fromEntries(keyValuesOf(attributes).map(({ key, value }) => [key, plain(value)]))
}

function plain(value: AttributeValue): Attributes[string] {
  if (value instanceof Double) return value.value
  if (typeof value === 'object') return [...value] as string[]
  return typeof value === 'bigint' ? Number(value) : value
}
