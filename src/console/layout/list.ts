// A list is declared once, column by column: what a value is, how it sorts and how it is drawn. The type of its rows, their JSON and its schema (and so the
// OpenAPI description), the `sort` parameter and the table follow from it. Columns stand in the order of the table.
import { z } from 'zod'
import { ordered, sortedTable, type Key, type Keys, type ShownColumn } from './sorting.ts'
import type { Content, Html } from './html.ts'
import type { RequestContext } from './frame.ts'
import type { Shaped } from './shape.ts'

type Fields = Readonly<z.ZodRawShape>
type RowOf<S extends Fields> = Shaped<z.ZodObject<S>>

/** A column without a value of its own: its cell shows other fields, or what can be done with the row. */
export const drawn = { json: z.undefined().optional(), inJson: false } as const

/** `Source`: what rows are made of. `Context`: what cells know beside their row. */
interface ListColumn<Shape extends Fields[string], Row, Source, Context> {
  /** Its field in the JSON, of the same name. */
  readonly json: Shape
  /** False: only the table has it. */
  readonly inJson?: false
  /** Its value; without it rows have it already. */
  readonly of?: (source: Source) => Shaped<z.ZodType<z.core.output<Shape>>>
  /** The head of its column in the table; without it there is none. */
  readonly title?: string
  /** The column's name in addresses, if it is not the field's. */
  readonly as?: string
  /** What the table is sorted by; by default its value. `null`: it is not sortable. */
  readonly by?: Key<Row> | null
  /** False: this reader's table does not have it. */
  readonly isFor?: (context: Context) => boolean
  /** By default its value as it is; a dash if there is none. */
  readonly cell?: (row: Row, context: Context) => Content
}

/** Of the page: heads of columns link to it in another order. */
type Address = Pick<RequestContext, 'base' | 'address' | 'query'>

interface List<S extends Fields, Source, Context> {
  readonly shape: z.ZodObject<S>
  readonly row: (source: Source) => RowOf<S>
  readonly columns: readonly (Pick<ListColumn<never, RowOf<S>, Source, Context>, 'title' | 'by' | 'cell'> & {
    readonly as: string
  })[]
  /** What its table can be sorted by, by the names in addresses. */
  readonly keys: Keys<RowOf<S>>
  /** `sort`: as in addresses. */
  readonly sorted: (rows: readonly RowOf<S>[], sort: string | null | undefined) => readonly RowOf<S>[]
  /** The columns of its table, by the names in addresses. */
  readonly table: (context: Context) => Readonly<Record<string, ShownColumn<RowOf<S>>>>
  /** Its table, sorted as the page's address says. */
  readonly draw: (label: string, rows: readonly RowOf<S>[], context: Context & Address, css?: string) => Html
}

export function listOf<Source = never, Context = RequestContext>() {
  return <const S extends Fields>(declared: {
    readonly [Name in keyof S]: ListColumn<S[Name], NoInfer<RowOf<S>>, Source, Context>
  }): List<S, Source, Context> => {
    type Row = RowOf<S>
    const all = Object.entries<ListColumn<Fields[string], Row, Source, Context>>(declared)
    const inJson = all.filter(([, column]) => column.inJson !== false)
    const columns = all.map(([field, { as = field, ...column }]) => ({ field, as, ...column }))
    const shown = columns.flatMap(({ field, as, title, by, cell, isFor }) => {
      const valueOf = (row: Row): unknown => row[field as keyof Row]
      const of = by === null ? undefined : (by ?? (valueOf as Key<Row>))
      return title === undefined ? [] : [{ as, head: title, of, isFor, cell: cell ?? (row => textOf(valueOf(row))) }]
    })
    const keys = Object.fromEntries(shown.flatMap(({ as, of }) => (of === undefined ? [] : [[as, of]])))
    // Copied for each row: a pipeline has thousands of jobs, and fields that are added one by one take three times as long.
    const blank: Record<string, unknown> = Object.fromEntries(inJson.map(([field]) => [field, undefined]))
    const table = (context: Context): Readonly<Record<string, ShownColumn<Row>>> =>
      Object.fromEntries(
        shown
          .filter(({ isFor }) => isFor?.(context) ?? true)
          .map(({ as, head, of, cell }) => [as, { head, of, cell: (row: Row) => cell(row, context) }]),
      )
    return {
      shape: z.object(Object.fromEntries(inJson.map(([field, { json }]) => [field, json])) as S),
      row: source => {
        const row = { ...blank }
        for (const [field, { of }] of inJson) row[field] = of?.(source)
        return row as Row
      },
      columns,
      keys,
      sorted: (rows, sort) => ordered(keys, rows, sort),
      table,
      draw: (label, rows, context, css) => sortedTable(label, table(context), rows, context, css),
    }
  }
}

function textOf(value: unknown): string {
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? String(value) : '–'
}
