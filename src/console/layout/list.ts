// Declares a list once, column by column: its value, its sort order, its cell. The type of its rows, their JSON, its schema (and so the OpenAPI
// description), the `sort` parameter and the table are derived from that. Columns are declared in the order of the table.
import { z } from 'zod'
import { ordered, sortedTable, type Key, type Keys, type ShownColumn } from './sorting.ts'
import type { Content, Html } from './html.ts'
import type { RequestContext } from './frame.ts'
import type { Shaped } from './shape.ts'

type Fields = Readonly<z.ZodRawShape>
type RowOf<S extends Fields> = Shaped<z.ZodObject<S>>

/** A column without a value of its own. Its cell shows other fields, or actions on the row. */
export const drawn = { json: z.undefined().optional(), inJson: false } as const

/** A column of a list. `Source` is the type that rows are computed from. `Context` is the type of the further data that cells need. */
interface ListColumn<Shape extends Fields[string], Row, Source, Context> {
  /** The schema of the column's field in the JSON. The field has the same name as the column. */
  readonly json: Shape
  /** Set to false if the column is only in the table. */
  readonly inJson?: false
  /** Computes the column's value. Without this function, rows already have the value. */
  readonly of?: (source: Source) => Shaped<z.ZodType<z.core.output<Shape>>>
  /** The head of the column in the table. Without a title, the table has no such column. */
  readonly title?: string
  /** The name of the column in addresses, if it differs from the name of the field. */
  readonly as?: string
  /** Returns the value that the table is sorted by. By default, it is the column's value. If `null`, the column is not sortable. */
  readonly by?: Key<Row> | null
  /** Whether the column is shown in this reader's table. */
  readonly isFor?: (context: Context) => boolean
  /** Draws the cell of the column. By default, it shows the value, or a dash if there is none. */
  readonly cell?: (row: Row, context: Context) => Content
}

/** The address of the page. The heads of columns link to it with another sort order. */
type Address = Pick<RequestContext, 'base' | 'address' | 'query'>

interface List<S extends Fields, Source, Context> {
  readonly shape: z.ZodObject<S>
  readonly row: (source: Source) => RowOf<S>
  readonly columns: readonly (Pick<ListColumn<never, RowOf<S>, Source, Context>, 'title' | 'by' | 'cell'> & {
    readonly as: string
  })[]
  /** The sort keys of the list's table, by their names in addresses. */
  readonly keys: Keys<RowOf<S>>
  /** Returns the rows, sorted. `sort` has the same form as in addresses. */
  readonly sorted: (rows: readonly RowOf<S>[], sort: string | null | undefined) => readonly RowOf<S>[]
  /** Returns the columns of the list's table, by their names in addresses. */
  readonly table: (context: Context) => Readonly<Record<string, ShownColumn<RowOf<S>>>>
  /** Draws the list's table, sorted by the `sort` of the page's address. */
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
    // An empty row, which is copied for each row. A pipeline may have thousands of jobs, and adding the fields one by one takes three times as long.
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
