// Sortable tables that work without scripts: each column heading links to the same page in another order.
import { figure, since } from './format.ts'
import { table, type RequestContext, type SortHead } from './frame.ts'
import type { Content, Html } from './html.ts'
import type { Millis } from '../../model/instant.ts'

/** Returns the value to sort a row by. Rows with an undefined value come last. */
export type Key<Row> = (row: Row) => string | number | undefined
/** The keys to sort by, by their names in page addresses: `ran` sorts in ascending order, `-ran` in descending order. */
export type Keys<Row> = Readonly<Record<string, Key<Row> | undefined>>

/** A column of a sortable table. `of` returns the value to sort by; rows with an undefined value come last. A column without `of` is not sortable. */
interface Column<Row> {
  readonly head: string
  readonly of?: Key<Row> | undefined
}

type Compare<Row> = (a: Row, b: Row) => number

interface Asked<Row> {
  /** The requested order: `ran`, or `-ran` for descending order. Anything else selects the default order. */
  readonly sort: string | null
  /** Returns the address of the same page with the table in another order. */
  readonly href: (sort: string) => string
  /** The default row order. If undefined, rows stay in the given order. */
  readonly otherwise?: Compare<Row> | undefined
  /** The order of rows with equal values. If undefined, it is the default order. */
  readonly alike?: Compare<Row> | undefined
}

/** Returns all rows, sorted, with the headings of their columns. */
export function sorting<Row>(
  columns: Readonly<Record<string, Column<Row>>>,
  rows: readonly Row[],
  { sort, href, otherwise, alike }: Asked<Row>,
): { readonly heads: readonly (string | SortHead)[]; readonly rows: readonly Row[] } {
  const keys = Object.fromEntries(Object.entries(columns).map(([name, { of }]) => [name, of]))
  const { of, isDescending } = chosen(keys, sort)
  const heads = Object.entries(columns).map(([own, { head, of: value }]): string | SortHead => {
    if (value === undefined) return head
    const isThis = value === of
    return {
      text: head,
      href: href(isThis && !isDescending ? `-${own}` : own),
      sorted: isThis ? (isDescending ? 'descending' : 'ascending') : undefined,
    }
  })
  return { heads, rows: ordered(keys, rows, sort, otherwise, alike) }
}

/** Returns the rows, sorted. If `sort` is not one of the keys, they are in the default order. */
export function ordered<Row>(
  keys: Keys<Row>,
  rows: readonly Row[],
  sort: string | null | undefined,
  otherwise: Compare<Row> = () => 0,
  alike = otherwise,
): readonly Row[] {
  const { of, isDescending } = chosen(keys, sort)
  if (of === undefined) return rows.toSorted(otherwise)
  const sign = isDescending ? -1 : 1
  return rows.toSorted((a, b) => {
    const [x, y] = [of(a), of(b)]
    if (x === undefined || y === undefined) return Number(x === undefined) - Number(y === undefined) || alike(a, b)
    const order = typeof x === 'number' ? x - Number(y) : x.localeCompare(String(y), 'en', { numeric: true })
    return sign * order || alike(a, b)
  })
}

function chosen<Row>(
  keys: Keys<Row>,
  sort: string | null | undefined,
): { readonly of: Key<Row> | undefined; readonly isDescending: boolean } {
  const name = sort?.replace(/^-/, '') ?? ''
  return { of: Object.hasOwn(keys, name) ? keys[name] : undefined, isDescending: sort?.startsWith('-') === true }
}

export interface ShownColumn<Row> extends Column<Row> {
  readonly cell: (row: Row) => Content
}

/** Returns a column of numbers. `show` formats them. */
export function figures<Row, Value extends number | undefined>(
  head: string,
  of: (row: Row) => Value,
  show: (value: Value) => Content,
): ShownColumn<Row> {
  return { head, of, cell: row => figure(show(of(row))) }
}

/** Returns a column of strings. `show` renders a string; by default, it is shown unchanged. A missing string is shown as a dash. */
export function texts<Row>(
  head: string,
  of: (row: Row) => string | undefined,
  show: (text: string) => Content = text => text,
): ShownColumn<Row> {
  return {
    head,
    of,
    cell: row => {
      const text = of(row)
      return text === undefined || text === '' ? '–' : show(text)
    },
  }
}

/** Returns a column that shows how long ago each time was. */
export function ages<Row>(head: string, of: (row: Row) => Millis | undefined, { now }: TableReader): ShownColumn<Row> {
  return {
    head,
    of,
    cell: row => {
      const at = of(row)
      return at === undefined ? '–' : since(at, now)
    },
  }
}

export function cellsOf<Row>(columns: Readonly<Record<string, ShownColumn<Row>>>): (row: Row) => Content[] {
  const all = Object.values(columns)
  return row => all.map(({ cell }) => cell(row))
}

/** The part of the request context that tables need. */
export type TableReader = Pick<RequestContext, 'base' | 'address' | 'query' | 'now'>

/**
 * Renders a table sorted by the `sort` parameter in the page's address. If several tables on a page have the column named by `sort`, all of them are
 * sorted. The links in the headings lead back to this table, not to the top of the page.
 */
export function sortedTable<Row>(
  label: string,
  columns: Readonly<Record<string, ShownColumn<Row>>>,
  rows: readonly Row[],
  context: Pick<TableReader, 'base' | 'address' | 'query'>,
  css = '',
): Html {
  const id = `by-${label.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`
  const { heads, rows: sorted } = sorting(columns, rows, {
    sort: context.query.get('sort'),
    href: sort => `${sortAddress(context, sort)}#${id}`,
  })
  return table(label, heads, sorted.map(cellsOf(columns)), { css, id })
}

function sortAddress({ base, address, query }: Pick<TableReader, 'base' | 'address' | 'query'>, sort: string): string {
  const own = new URLSearchParams(query)
  own.set('sort', sort)
  return `${base}${address.split('?', 1)[0] ?? ''}?${own.toString()}`
}
