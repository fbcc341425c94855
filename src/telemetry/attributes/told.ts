// The attributes of a table as protobuf, straight from its rows. What recurs from span to span (a stage, a runner, a status) is
// encoded once, all names of its row together, and copied from then on.
import type { Attributes } from '@opentelemetry/api'
import type { BackWriter } from '../back-writer.ts'
import { attributesOf, keyUnder, typed, type AttributeRow, type AttributeStyle } from './table.ts'
import type { AttributeValue } from './policy.ts'
import { writeKeyValue } from './key-value.ts'

/** Attributes in the order of their table, however they are wanted. */
export interface AttributeSource {
  asObject(): Attributes
  /** As fields of this number. */
  write(writer: BackWriter, field: number): void
}

/** A subject with the table that tells of it: its attributes before anybody has made an object or bytes of them. */
export class ToldAttributes<S> implements AttributeSource {
  readonly #rows: readonly AttributeRow<S>[]
  readonly #subject: S
  readonly #style: AttributeStyle

  constructor(rows: readonly AttributeRow<S>[], subject: S, style: AttributeStyle) {
    this.#rows = rows
    this.#subject = subject
    this.#style = style
  }

  asObject(): Attributes {
    return attributesOf(this.#rows, this.#subject, this.#style)
  }

  write(writer: BackWriter, field: number): void {
    const rows = readyRows(this.#rows, this.#style, field)
    for (let n = rows.length - 1; n >= 0; n -= 1) rows[n]?.write(writer, this.#subject)
  }
}

/** Values remembered of one row, and the longest of them, UTF-16 units: some megabytes for all rows at the very most. */
const mostBlocks = 512
const longestValue = 256
/** A row whose values did not recur is left alone for so many. */
const restFor = 65_536

class ReadyRow<S> {
  readonly #type: AttributeRow<S>['type']
  readonly #value: AttributeRow<S>['value']
  readonly #names: readonly string[]
  readonly #style: AttributeStyle
  readonly #field: number
  readonly #blocks = new Map<string | number | boolean, Uint8Array>()
  #hits = 0
  #resting = 0
  #lastList: readonly unknown[] = []
  #lastBlock: Uint8Array = new Uint8Array()

  constructor(row: AttributeRow<S>, style: AttributeStyle, field: number) {
    this.#type = row.type
    this.#value = row.value
    this.#names = row.keys.map(key => keyUnder(style.namespace, key)).reverse()
    this.#style = style
    this.#field = field
  }

  write(writer: BackWriter, subject: S): void {
    const value = typed(this.#type, this.#value(subject))
    if (value === undefined) return
    const known = this.#recall(value)
    if (known !== undefined) {
      writer.bytes(known)
      return
    }
    const before = writer.written
    for (const name of this.#names) {
      const allowed = this.#style.policy(name, value)
      if (allowed !== undefined) writeKeyValue(writer, this.#field, name, allowed, this.#type === 'double')
    }
    this.#remember(value, writer, before)
  }

  #recall(value: AttributeValue): Uint8Array | undefined {
    if (typeof value === 'object') return isSame(value, this.#lastList) ? this.#lastBlock : undefined
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
    // Zero and minus zero are one key of a map.
    if (this.#resting > 0 || this.#type === 'double') return
    if (typeof value === 'string' && value.length > longestValue) return
    if (this.#blocks.size >= mostBlocks) {
      if (this.#hits < mostBlocks) this.#resting = restFor
      this.#blocks.clear()
      this.#hits = 0
    }
    this.#blocks.set(value, writer.since(before))
  }
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length || a.length === 0) return false
  for (let n = 0; n < a.length; n += 1) if (a[n] !== b[n]) return false
  return true
}

/** Styles are few and live as long as the settings do. */
const ready = new WeakMap<AttributeStyle, Map<unknown, readonly ReadyRow<never>[]>>()

function readyRows<S>(rows: readonly AttributeRow<S>[], style: AttributeStyle, field: number): readonly ReadyRow<S>[] {
  const tables = ready.get(style) ?? new Map<unknown, readonly ReadyRow<never>[]>()
  const known = tables.get(rows)
  if (known !== undefined) return known as readonly ReadyRow<S>[]
  const made = rows.map(row => new ReadyRow(row, style, field))
  ready.set(style, tables.set(rows, made))
  return made
}
