// Rows of a table made ready to be written, alone or as a group. The bytes of what recurs (a name, a stage, a runner) are
// remembered with all names of theirs, and copied from then on.
import type { BackWriter } from '../otlp/back-writer.ts'
import { AttributeName } from './key-value.ts'
import { NumberedName, NumberedText } from './numbered-text.ts'
import type { AttributeRule, AttributeValue } from '../attribute-policy.ts'
import { Recurring } from './recurring.ts'
import { keyUnder, nanoseconds, tellerOf, type AttributeRow, type AttributeStyle } from '../attributes.ts'
import { isSame, type Thing } from './things.ts'

type Told = AttributeValue | NumberedText | undefined

/** What is told the same again is one piece of the same bytes. */
export interface ReadyPiece<S> {
  tell(subject: S): unknown
  write(writer: BackWriter, told: unknown): void
}

/** UTF-16 units of a value that is remembered: with 512 of each, some megabytes at the very most. */
const longest = 256
/** The same of a whole thing as JSON, because what is remembered of it keeps all of it in memory. */
const longestThing = 2_048

/** Rows in their order, those of one group together. */
export function readyPieces<S>(
  rows: readonly AttributeRow<S>[],
  style: AttributeStyle,
  field: number,
): readonly ReadyPiece<S>[] {
  const pieces: ReadyPiece<S>[] = []
  let at = 0
  while (at < rows.length) {
    const group = rows[at]?.of
    let end = at + 1
    while (group !== undefined && rows[end]?.of === group) end += 1
    const ready = rows.slice(at, end).map(row => new ReadyRow(row, style, field))
    pieces.push(...(group === undefined ? ready : [new ReadyGroup(ready, group)]))
    at = end
  }
  return pieces
}

class ReadyRow<S> implements ReadyPiece<S> {
  readonly tell: (subject: S) => Told
  /** Last first, as they are written. */
  readonly #names: readonly { readonly name: AttributeName; readonly rule: AttributeRule }[]
  readonly #numbered: readonly NumberedName[]
  readonly #blocks = new Recurring<AttributeValue, Uint8Array>()
  /** Lists are known by what is in them, not by themselves: only the last one is remembered. */
  #list: { readonly items: Told; readonly bytes: Uint8Array } | undefined

  constructor(row: AttributeRow<S>, style: AttributeStyle, field: number) {
    this.tell = tellerOf(row)
    const keys = row.keys.map(key => keyUnder(style.namespace, key)).reverse()
    const numbers = row.type === 'double' || row.type === 'nanoseconds' ? row.type : 'int'
    this.#names = keys.flatMap(key => {
      const name = new AttributeName(key, field, numbers)
      const rule = style.policy(key)
      return rule === undefined
        ? []
        : [{ name, rule: numbers === 'nanoseconds' && rule(0) !== 0 ? ofNanoseconds(rule) : rule }]
    })
    this.#numbered = this.#names.map(({ name, rule }) => new NumberedName(name, rule))
  }

  write(writer: BackWriter, told: Told): void {
    if (told === undefined) return
    if (told instanceof NumberedText) {
      for (const name of this.#numbered) name.write(writer, told)
      return
    }
    if (typeof told === 'object') {
      this.#writeList(writer, told)
      return
    }
    const known = this.#blocks.recall(told)
    if (known !== undefined) {
      writer.bytes(known)
      return
    }
    const before = writer.written
    this.writeAnew(writer, told)
    if (this.#blocks.remembers && lengthOf(told) <= longest) {
      this.#blocks.remember(told, writer.since(before))
    }
  }

  #writeList(writer: BackWriter, items: AttributeValue): void {
    if (this.#list !== undefined && isSame(items, this.#list.items)) {
      writer.bytes(this.#list.bytes)
      return
    }
    const before = writer.written
    this.writeAnew(writer, items)
    this.#list = lengthOf(items) <= longest ? { items, bytes: writer.since(before) } : undefined
  }

  writeAnew(writer: BackWriter, told: AttributeValue | NumberedText): void {
    const value = told instanceof NumberedText ? told.toString() : told
    for (const { name, rule } of this.#names) name.write(writer, rule(value))
  }
}

/** A rule that makes something else of numbers, for nanoseconds that are given as microseconds. */
function ofNanoseconds(rule: AttributeRule): AttributeRule {
  return told => rule(nanoseconds(told as number) ?? told)
}

interface Block {
  readonly thing: object
  readonly values: readonly Told[]
  bytes: Uint8Array | undefined
}

/** Rows about one thing, known by what the first of them tells. */
class ReadyGroup<S> implements ReadyPiece<S> {
  readonly #rows: readonly ReadyRow<S>[]
  readonly #thing: Thing<S>
  readonly #blocks = new Recurring<Told, Block>()
  #last: Block | undefined

  constructor(rows: readonly ReadyRow<S>[], of: Thing<S>) {
    this.#rows = rows
    this.#thing = of
  }

  /** The very block that was told before, where it is of the same thing. */
  tell(subject: S): Block | undefined {
    const { of, same } = this.#thing
    const thing = of(subject)
    if (thing === undefined) return undefined
    const last = this.#last
    if (last !== undefined && same(thing, last.thing)) return last
    const known = this.#blocks.recall(this.#rows[0]?.tell(subject))
    const isKnown = known !== undefined && same(thing, known.thing)
    const block = isKnown ? known : this.#blockOf(thing, subject)
    this.#last = block
    return block
  }

  /** Apart from the above, which would make the closure's memory whether it is needed or not. */
  #blockOf(thing: object, subject: S): Block {
    return { thing, values: this.#rows.map(row => row.tell(subject)), bytes: undefined }
  }

  write(writer: BackWriter, told: Block | undefined): void {
    if (told === undefined) return
    if (told.bytes !== undefined) {
      writer.bytes(told.bytes)
      return
    }
    const before = writer.written
    for (let n = this.#rows.length - 1; n >= 0; n -= 1) {
      const value = told.values[n]
      if (value !== undefined) this.#rows[n]?.writeAnew(writer, value)
    }
    if (!this.#blocks.remembers || JSON.stringify(told.thing).length > longestThing) return
    told.bytes = writer.since(before)
    this.#blocks.remember(told.values[0], told)
  }
}

function lengthOf(value: AttributeValue): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' ? value.reduce<number>((sum, item) => sum + 1 + String(item).length, 0) : 0
}
