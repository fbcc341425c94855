// The attributes of a table as protobuf, straight from its rows. Spans of a pipeline differ in few rows: what is told again is
// copied from the span before, as one piece from each row that differs to the next.
import type { Attributes } from '@opentelemetry/api'
import type { BackWriter } from '../otlp/back-writer.ts'
import { readyPieces, type ReadyPiece } from './ready-row.ts'
import { attributesOf, type AttributeRow, type AttributeStyle } from '../attributes.ts'
import { isSame } from './things.ts'

/** Attributes in the order of their table, however they are wanted. */
export interface AttributeSource {
  asObject(): Attributes
  /** As fields of the message around. */
  write(writer: BackWriter): void
}

/** A table made ready for one style, and for one field of the message around. */
export class ToldTable<S> {
  readonly #rows: readonly AttributeRow<S>[]
  readonly #style: AttributeStyle
  readonly #pieces: readonly ReadyPiece<S>[]
  /** What was told of the subject before, and how many bytes that became. */
  readonly #told: unknown[]
  readonly #sizes: number[]
  /** How much of the message was written before those bytes. */
  #began = 0
  #message: object | undefined

  constructor(rows: readonly AttributeRow<S>[], style: AttributeStyle, field: number) {
    this.#rows = rows
    this.#style = style
    // Last first, as they are written.
    this.#pieces = readyPieces(rows, style, field).toReversed()
    this.#told = this.#pieces.map(() => undefined)
    this.#sizes = this.#pieces.map(() => 0)
  }

  of(subject: S): AttributeSource {
    return new ToldSubject(this, subject)
  }

  asObject(subject: S): Attributes {
    return attributesOf(this.#rows, subject, this.#style)
  }

  write(writer: BackWriter, subject: S): void {
    const isAnother = this.#message !== writer.message
    this.#message = writer.message
    const pieces = this.#pieces
    const all = this.#told
    const sizes = this.#sizes
    let from = this.#began
    this.#began = writer.written
    // Told again, from there on, and not copied yet.
    let again = 0
    for (let n = 0; n < pieces.length; n += 1) {
      const piece = pieces[n]
      if (piece === undefined) continue
      const told = piece.tell(subject)
      const size = sizes[n] ?? 0
      if (!isAnother && isSame(told, all[n])) {
        again += size
        continue
      }
      if (again > 0) writer.again(from, from + again)
      from += again + size
      again = 0
      const before = writer.written
      piece.write(writer, told)
      all[n] = told
      sizes[n] = writer.written - before
    }
    if (again > 0) writer.again(from, from + again)
  }
}

/** One subject of a table. No closures: there is one for each span, and closures take three times the memory. */
class ToldSubject<S> implements AttributeSource {
  readonly #table: ToldTable<S>
  readonly #subject: S

  constructor(table: ToldTable<S>, subject: S) {
    this.#table = table
    this.#subject = subject
  }

  asObject(): Attributes {
    return this.#table.asObject(this.#subject)
  }

  write(writer: BackWriter): void {
    this.#table.write(writer, this.#subject)
  }
}

/** Styles are few and live as long as the settings do. */
const ready = new WeakMap<AttributeStyle, Map<unknown, Map<number, ToldTable<never>>>>()

/** The table ready for this style, made once. `field`: the number of its attributes in the message around. */
export function toldTable<S>(rows: readonly AttributeRow<S>[], style: AttributeStyle, field: number): ToldTable<S> {
  const tables = ready.get(style) ?? new Map<unknown, Map<number, ToldTable<never>>>()
  const fields = tables.get(rows) ?? new Map<number, ToldTable<never>>()
  const known = fields.get(field)
  if (known !== undefined) return known as ToldTable<S>
  const made = new ToldTable(rows, style, field)
  ready.set(style, tables.set(rows, fields.set(field, made)))
  return made
}
