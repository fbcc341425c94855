// The attributes of a table as protobuf, straight from its rows. Spans of a pipeline differ in few rows: what is told again is
// copied from the span before, and of what recurs later (a runner, a stage, a name) the bytes are remembered.
import type { Attributes } from '@opentelemetry/api'
import type { BackWriter } from '../back-writer.ts'
import { keyBytes, writeKeyValue } from './key-value.ts'
import type { AttributeRule, AttributeValue } from './policy.ts'
import { attributesOf, keyUnder, tellerOf, type AttributeRow, type AttributeStyle } from './table.ts'

/** Attributes in the order of their table, however they are wanted. */
export interface AttributeSource {
  asObject(): Attributes
  /** As fields of this number. */
  write(writer: BackWriter, field: number): void
}

/** A table made ready for one style, and for one field of the message around. */
export class ToldTable<S> {
  readonly #rows: readonly AttributeRow<S>[]
  readonly #style: AttributeStyle
  readonly #ready: readonly ReadyRow<S>[]
  /** What the subject before was told to be, and how much of the message was written when each row was. */
  readonly #values: (AttributeValue | undefined)[]
  readonly #written: number[]
  /** How much was written before the last row, which is the first to be. */
  #began = 0
  #message: object | undefined

  constructor(rows: readonly AttributeRow<S>[], style: AttributeStyle, field: number) {
    this.#rows = rows
    this.#style = style
    this.#ready = rows.map(row => new ReadyRow(row, style, field))
    this.#values = rows.map(() => undefined)
    this.#written = rows.map(() => 0)
  }

  of(subject: S): AttributeSource {
    return {
      asObject: () => attributesOf(this.#rows, subject, this.#style),
      write: writer => this.#write(writer, subject),
    }
  }

  #write(writer: BackWriter, subject: S): void {
    const isAnother = this.#message !== writer.message
    this.#message = writer.message
    const rows = this.#ready
    const values = this.#values
    const written = this.#written
    let from = this.#began
    // So much directly before `from` is told again, and not copied yet.
    let again = 0
    this.#began = writer.written
    for (let n = rows.length - 1; n >= 0; n -= 1) {
      const row = rows[n]
      if (row === undefined) continue
      const to = written[n] ?? 0
      const value = row.tell(subject)
      if (!isAnother && isSame(value, values[n])) {
        again += to - from
        written[n] = writer.written + again
      } else {
        if (again > 0) writer.again(from - again, from)
        again = 0
        row.write(writer, value)
        values[n] = value
        written[n] = writer.written
      }
      from = to
    }
    if (again > 0) writer.again(from - again, from)
  }
}

/** Values remembered of one row, and the longest of them, UTF-16 units: some megabytes for all rows at the very most. */
const mostBlocks = 512
const longestValue = 256
/** A row whose values did not recur is left alone for so many. */
const restFor = 65_536

interface ReadyName {
  readonly key: Uint8Array
  readonly rule: AttributeRule
}

class ReadyRow<S> {
  readonly tell: (subject: S) => AttributeValue | undefined
  /** In reverse. */
  readonly #names: readonly ReadyName[]
  readonly #isDouble: boolean
  readonly #field: number
  readonly #blocks = new Map<string | number | boolean, Uint8Array>()
  #hits = 0
  #resting = 0
  #lastList: readonly unknown[] = []
  #lastBlock: Uint8Array = new Uint8Array()

  constructor(row: AttributeRow<S>, style: AttributeStyle, field: number) {
    this.tell = tellerOf(row)
    this.#isDouble = row.type === 'double'
    this.#field = field
    const names = row.keys.map(key => keyUnder(style.namespace, key)).reverse()
    this.#names = names.flatMap(name => {
      const rule = style.policy(name)
      return rule === undefined ? [] : [{ key: keyBytes(name), rule }]
    })
  }

  write(writer: BackWriter, value: AttributeValue | undefined): void {
    if (value === undefined) return
    const known = this.#recall(value)
    if (known !== undefined) {
      writer.bytes(known)
      return
    }
    const before = writer.written
    for (const { key, rule } of this.#names) writeKeyValue(writer, this.#field, key, rule(value), this.#isDouble)
    this.#remember(value, writer, before)
  }

  #recall(value: AttributeValue): Uint8Array | undefined {
    if (typeof value === 'object') return isSameList(value, this.#lastList) ? this.#lastBlock : undefined
    if (this.#resting > 0) {
      this.#resting -= 1
      return undefined
    }
    const block = this.#blocks.get(value)
    if (block !== undefined) this.#hits += 1
    return block
  }

  #remember(value: AttributeValue, writer: BackWriter, before: number): void {
    if (typeof value === 'object') {
      this.#lastBlock = writer.since(before)
      this.#lastList = value
      return
    }
    if (this.#resting > 0) return
    if (typeof value === 'string' && value.length > longestValue) return
    if (this.#blocks.size >= mostBlocks) {
      if (this.#hits < mostBlocks) this.#resting = restFor
      this.#blocks.clear()
      this.#hits = 0
    }
    this.#blocks.set(value, writer.since(before))
  }
}

function isSame(a: AttributeValue | undefined, b: AttributeValue | undefined): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && isSameList(a, b))
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length || a.length === 0) return false
  for (let n = 0; n < a.length; n += 1) if (a[n] !== b[n]) return false
  return true
}

/** Styles are few and live as long as the settings do. */
const ready = new WeakMap<AttributeStyle, Map<unknown, ToldTable<never>>>()

/** The attributes of a span: field 9 there. */
export function spanTable<S>(rows: readonly AttributeRow<S>[], style: AttributeStyle): ToldTable<S> {
  const tables = ready.get(style) ?? new Map<unknown, ToldTable<never>>()
  const known = tables.get(rows)
  if (known !== undefined) return known as ToldTable<S>
  const made = new ToldTable(rows, style, 9)
  ready.set(style, tables.set(rows, made))
  return made
}
