// Sortable tables without a script: the heads of columns link to the same page in another order.
import { figure, since } from './format.ts'
import { table, type RequestContext, type SortHead } from './frame.ts'
import type { Content, Html } from './html.ts'
import type { Millis } from '../../model/instant.ts'

/** The value to sort a row by; undefined ones come last. */
export type Key<Row> = (row: Row) => string | number | undefined
/** Keys by their names in an address: `ran`, or `-ran` for descending order. */
export type Keys<Row> = Readonly<Record<string, Key<Row> | undefined>>

/** A column. `of`: the value to sort by, undefined ones last; without it the column is not sortable. */
interface Column<Row> {
  readonly head: string
  readonly of?: Key<Row> | undefined
}

type Compare<Row> = (a: Row, b: Row) => number

interface Asked<Row> {
  /** `ran`, or `-ran` for descending order; anything else: the default order. */
  readonly sort: string | null
  /** The address of the same page in another order. */
  readonly href: (sort: string) => string
  /** The default order; undefined: as given. */
  readonly otherwise?: Compare<Row> | undefined
  /** The order of rows with equal values; undefined: the default order. */
  readonly alike?: Compare<Row> | undefined
}

/** Returns all rows, sorted, with the heads of their columns. */
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

/** The rows, sorted; in the default order if `sort` names none of the keys. */
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

/** A column with its cells. */
export interface ShownColumn<Row> extends Column<Row> {
  readonly cell: (row: Row) => Content
}

/** A column of figures: `show` writes its values. */
export function figures<Row, Value extends number | undefined>(
  head: string,
  of: (row: Row) => Value,
  show: (value: Value) => Content,
): ShownColumn<Row> {
  return { head, of, cell: row => figure(show(of(row))) }
}

/** A column of texts: `show` draws them, otherwise they are drawn as they are. A dash where there is none. */
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

/** A column of times: how long ago each is. */
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
 * A table sorted by `sort` in the page's address. If several tables of a page have that column, all of them are.
 * The links of the heads lead back to this table, not to the top of the page.
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

/** The address of the same page in another order. */
function sortAddress({ base, address, query }: Pick<TableReader, 'base' | 'address' | 'query'>, sort: string): string {
  const own = new URLSearchParams(query)
  own.set('sort', sort)
  return `${base}${address.split('?', 1)[0] ?? ''}?${own.toString()}`
}
