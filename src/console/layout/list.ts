// A list is declared once, column by column: what a value is, how it sorts and how it is drawn. The type of its rows, their JSON and its schema (and so the
// OpenAPI description), the `sort` parameter and the table follow from it. Columns stand in the order of the table.
import { z } from 'zod'
import { ordered, type Key, type Keys, type ShownColumn } from './sorting.ts'
import type { Content } from './html.ts'
import type { RequestContext } from './frame.ts'
import type { Shaped } from './shape.ts'

type Fields = Readonly<Record<string, z.ZodType>>
export type RowOf<S extends Fields> = Shaped<z.ZodObject<S>>

/** A column without a value of its own: its cell shows other fields, or what can be done with the row. */
export const drawn = { json: z.undefined().optional(), inJson: false } as const

/** `Source`: what rows are made of. `Context`: what cells know beside their row. */
interface ListColumn<Shape extends z.ZodType, Row, Source, Context> {
  /** Its field in the JSON, of the same name. */
  readonly json: Shape
  /** False: only the table has it. */
  readonly inJson?: false
  /** Its value; without it rows have it already. */
  readonly of?: (source: Source) => Shaped<Shape>
  /** The head of its column in the table; without it there is none. */
  readonly title?: string
  /** The column's name in addresses, if it is not the field's. */
  readonly as?: string
  /** What the table is sorted by; by default its value. `null`: it is not sortable. */
  readonly by?: Key<Row> | null
  /** By default its value as it is; a dash if there is none. */
  readonly cell?: (row: Row, context: Context) => Content
}

export interface List<S extends Fields, Source, Context> {
  readonly shape: z.ZodObject<S>
  readonly row: (source: Source) => RowOf<S>
  readonly columns: readonly Pick<Shown<RowOf<S>, Context>, 'as' | 'title' | 'by' | 'cell'>[]
  /** What its table can be sorted by, by the names in addresses. */
  readonly keys: Keys<RowOf<S>>
  /** `sort`: as in addresses. */
  readonly sorted: (rows: readonly RowOf<S>[], sort: string | null | undefined) => readonly RowOf<S>[]
  /** The columns of its table, by the names in addresses. */
  readonly table: (context: Context) => Readonly<Record<string, ShownColumn<RowOf<S>>>>
}

interface Shown<Row, Context> {
  readonly as: string
  readonly title: string | undefined
  readonly by: Key<Row> | null | undefined
  readonly cell: ((row: Row, context: Context) => Content) | undefined
}

export function listOf<Source = never, Context = RequestContext>() {
  return <const S extends Fields>(declared: {
    readonly [Name in keyof S]: ListColumn<S[Name], NoInfer<RowOf<S>>, Source, Context>
  }): List<S, Source, Context> => {
    type Row = RowOf<S>
    const all = Object.entries<ListColumn<z.ZodType, Row, Source, Context>>(declared)
    const inJson = all.filter(([, column]) => column.inJson !== false)
    const columns = all.map(([field, { as = field, title, by, cell }]) => ({ field, as, title, by, cell }))
    const shown = columns.flatMap(({ field, as, title, by, cell }) => {
      const valueOf = (row: Row): unknown => row[field as keyof Row]
      const of = by === null ? undefined : (by ?? (valueOf as Key<Row>))
      return title === undefined ? [] : [{ as, head: title, of, cell: cell ?? (row => textOf(valueOf(row))) }]
    })
    const keys = Object.fromEntries(shown.map(({ as, of }) => [as, of]))
    return {
      shape: z.object(Object.fromEntries(inJson.map(([field, { json }]) => [field, json])) as S),
      row: source => Object.fromEntries(inJson.map(([field, { of }]) => [field, of?.(source)])) as Row,
      columns,
      keys,
      sorted: (rows, sort) => ordered(keys, rows, sort),
      table: context =>
        Object.fromEntries(
          shown.map(({ as, head, of, cell }) => [as, { head, of, cell: (row: Row) => cell(row, context) }]),
        ),
    }
  }
}

function textOf(value: unknown): string {
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? String(value) : '–'
}
