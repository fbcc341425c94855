// Sortable tables without a script: the heads of columns link to the same page in another order.
import { table, type Reader, type SortHead } from './frame.ts'
import type { Content, Html } from './html.ts'

/** A column. `of`: the value to sort by, undefined ones last; without it the column is not sortable. */
export interface Column<Row> {
  readonly head: string
  readonly of?: (row: Row) => string | number | undefined
}

export interface Sorting<Row> {
  readonly heads: readonly (string | SortHead)[]
  /** All rows, sorted. */
  readonly rows: readonly Row[]
}

export interface Asked<Row> {
  /** `ran`, or `-ran` for descending order; anything else: the default order. */
  readonly sort: string | null
  /** The address of the same page in another order. */
  readonly href: (sort: string) => string
  /** The default order; undefined: as given. */
  readonly otherwise?: ((a: Row, b: Row) => number) | undefined
  /** The order of rows with equal values; undefined: the default order. */
  readonly alike?: ((a: Row, b: Row) => number) | undefined
}

export function sorting<Row>(
  columns: Readonly<Record<string, Column<Row>>>,
  rows: readonly Row[],
  { sort, href, otherwise = () => 0, alike = otherwise }: Asked<Row>,
): Sorting<Row> {
  const isDescending = sort?.startsWith('-') === true
  const name = sort?.replace(/^-/, '') ?? ''
  const of = Object.hasOwn(columns, name) ? columns[name]?.of : undefined
  const heads = Object.entries(columns).map(([own, { head, of: value }]): string | SortHead => {
    if (value === undefined) return head
    const isThis = value === of
    return {
      text: head,
      href: href(isThis && !isDescending ? `-${own}` : own),
      sorted: isThis ? (isDescending ? 'descending' : 'ascending') : undefined,
    }
  })
  if (of === undefined) return { heads, rows: rows.toSorted(otherwise) }
  const sign = isDescending ? -1 : 1
  const sorted = rows.toSorted((a, b) => {
    const [x, y] = [of(a), of(b)]
    if (x === undefined || y === undefined) return Number(x === undefined) - Number(y === undefined) || alike(a, b)
    const order = typeof x === 'number' ? x - Number(y) : x.localeCompare(String(y), 'en', { numeric: true })
    return sign * order || alike(a, b)
  })
  return { heads, rows: sorted }
}

/** A column with its cells. */
export interface ShownColumn<Row> extends Column<Row> {
  readonly cell: (row: Row) => Content
}

/** A table sorted by `sort` in the page's address. If several tables of a page have that column, all of them are. */
export function sortedTable<Row>(
  label: string,
  columns: Readonly<Record<string, ShownColumn<Row>>>,
  rows: readonly Row[],
  reader: Pick<Reader, 'base' | 'address' | 'query'>,
): Html {
  const { heads, rows: sorted } = sorting(columns, rows, {
    sort: reader.query.get('sort'),
    href: sort => sortAddress(reader, sort),
  })
  const cells = Object.values(columns)
  return table(
    label,
    heads,
    sorted.map(row => cells.map(({ cell }) => cell(row))),
  )
}

/** The address of the same page in another order. */
function sortAddress({ base, address, query }: Pick<Reader, 'base' | 'address' | 'query'>, sort: string): string {
  const own = new URLSearchParams(query)
  own.set('sort', sort)
  return `${base}${address.split('?', 1)[0] ?? ''}?${own.toString()}`
}
