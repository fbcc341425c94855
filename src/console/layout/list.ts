// A list is declared once, column by column: its value, how it is sorted, how it is drawn. From that follow the type of its rows, their JSON, its schema (and
// so the OpenAPI description), the `sort` parameter and the table. Columns are declared in the order of the table.
import { z } from 'zod'
import { ordered, sortedTable, type Key, type Keys, type ShownColumn } from './sorting.ts'
import type { Content, Html } from './html.ts'
import type { RequestContext } from './frame.ts'
import type { Shaped } from './shape.ts'

type Fields = Readonly<z.ZodRawShape>
type RowOf<S extends Fields> = Shaped<z.ZodObject<S>>

/** A column without a value of its own: its cell shows other fields, or what can be done with the row. */
export const drawn = { json: z.undefined().optional(), inJson: false } as const

/** `Source`: what rows are made from. `Context`: what cells need besides their row. */
interface ListColumn<Shape extends Fields[string], Row, Source, Context> {
  /** The schema of its field in the JSON, which has the same name. */
  readonly json: Shape
  /** False: the column is only in the table. */
  readonly inJson?: false
  /** Computes its value; without it, rows already have the value. */
  readonly of?: (source: Source) => Shaped<z.ZodType<z.core.output<Shape>>>
  /** The head of its column in the table; without it, the table has no such column. */
  readonly title?: string
  /** The column's name in addresses, if it differs from the field's. */
  readonly as?: string
  /** The value to sort the table by; default: the column's value. `null`: the column is not sortable. */
  readonly by?: Key<Row> | null
  /** False: the column is not in this reader's table. */
  readonly isFor?: (context: Context) => boolean
  /** Draws the cell. Default: the value as it is, or a dash if there is none. */
  readonly cell?: (row: Row, context: Context) => Content
}

/** The page's address: the heads of columns link to it with another order. */
type Address = Pick<RequestContext, 'base' | 'address' | 'query'>

interface List<S extends Fields, Source, Context> {
  readonly shape: z.ZodObject<S>
  readonly row: (source: Source) => RowOf<S>
  readonly columns: readonly (Pick<ListColumn<never, RowOf<S>, Source, Context>, 'title' | 'by' | 'cell'> & {
    readonly as: string
  })[]
  /** The sort keys of its table, by their names in addresses. */
  readonly keys: Keys<RowOf<S>>
  /** The rows, sorted. `sort`: as in addresses. */
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
    // Copied for each row: a pipeline may have thousands of jobs, and adding fields one by one takes three times as long.
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
