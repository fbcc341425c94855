// Declares a list once, column by column: value, sort order, cell. The row type, the JSON, its schema (and so the OpenAPI description), the `sort`
// parameter and the table are all derived from that declaration. Columns are declared in table order.
import { z } from 'zod'
import { ordered, sortedTable, type Key, type Keys, type ShownColumn } from './sorting.ts'
import type { Content, Html } from './html.ts'
import type { RequestContext } from './frame.ts'
import type { Shaped } from './shape.ts'

type Fields = Readonly<z.ZodRawShape>
type RowOf<S extends Fields> = Shaped<z.ZodObject<S>>

/** A column without a value of its own. Its cell shows other fields or offers actions on the row. */
export const drawn = { json: z.undefined().optional(), inJson: false } as const

/** A column of a list. `Source` is the type that rows are computed from. `Context` is the type of the additional data that cells need. */
interface ListColumn<Shape extends Fields[string], Row, Source, Context> {
  /** The schema of the column's JSON field, which has the same name as the column. */
  readonly json: Shape
  /** False if the column appears only in the table, not in the JSON. */
  readonly inJson?: false
  /** Computes the column's value. If the function is undefined, the row already contains the value. */
  readonly of?: (source: Source) => Shaped<z.ZodType<z.core.output<Shape>>>
  /** The column's heading in the table. Without a title, the column does not appear in the table. */
  readonly title?: string
  /** The column's name in page addresses, if it differs from the field name. */
  readonly as?: string
  /** Returns the value to sort the table by; by default, the column's value. If `null`, the column is not sortable. */
  readonly by?: Key<Row> | null
  /** Whether the table includes the column for the current user. */
  readonly isFor?: (context: Context) => boolean
  /** Renders the column's cell. By default, it shows the value, or a dash if there is none. */
  readonly cell?: (row: Row, context: Context) => Content
}

/** The page's address. The column headings link to it with another sort order. */
type Address = Pick<RequestContext, 'base' | 'address' | 'query'>

interface List<S extends Fields, Source, Context> {
  readonly shape: z.ZodObject<S>
  readonly row: (source: Source) => RowOf<S>
  readonly columns: readonly (Pick<ListColumn<never, RowOf<S>, Source, Context>, 'title' | 'by' | 'cell'> & {
    readonly as: string
  })[]
  /** The table's sort keys, by their names in page addresses. */
  readonly keys: Keys<RowOf<S>>
  /** Returns the rows, sorted. `sort` has the same format as in page addresses. */
  readonly sorted: (rows: readonly RowOf<S>[], sort: string | null | undefined) => readonly RowOf<S>[]
  /** Returns the table's columns, by their names in page addresses. */
  readonly table: (context: Context) => Readonly<Record<string, ShownColumn<RowOf<S>>>>
  /** Renders the list as a table, sorted by the `sort` parameter in the page's address. */
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
    // An empty row with all fields, which is copied for each row. A pipeline may have thousands of jobs, and adding the fields one by one takes three
    // times as long as copying.
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
