// Tests the declaration of a list: its rows, schema, sorting and table are all derived from its columns.
import { z } from 'zod'
import { describe, expect, it } from 'vitest'
import { drawn, listOf } from '../../src/console/layout/list.ts'
import { html } from '../../src/console/layout/html.ts'
import { sortBy } from '../../src/console/api/api-queries.ts'

interface Source {
  readonly made: number
  readonly words: readonly string[]
}

const list = listOf<Source, { readonly base: string; readonly may: boolean }>()({
  name: { json: z.string(), of: ({ words: [name = ''] }) => name, title: 'Name' },
  nick: { json: z.string().optional(), of: ({ words }) => words[1], title: 'Nick' },
  at: {
    json: z.number(),
    of: ({ made }) => made,
    title: 'Age',
    as: 'age',
    by: ({ at }) => -at,
    cell: ({ at, name }, { base }) => html`<a href="${base}/${name}">${at}</a>`,
  },
  hidden: { json: z.boolean(), of: () => true },
  actions: { ...drawn, title: '', by: null, isFor: ({ may }) => may, cell: ({ name }) => `drop ${name}` },
})
const rows = [
  { made: 10, words: ['b', 'bee'] },
  { made: 30, words: ['a'] },
  { made: 20, words: ['c', 'sea'] },
].map(source => list.row(source))
const context = { base: '/under', may: true, address: '/list?sort=age', query: new URLSearchParams('sort=age') }
const names = (some: readonly { readonly name: string }[]): string => some.map(({ name }) => name).join('')

describe('a list', () => {
  it("includes a list's columns in rows and in the schema, except for columns that are only drawn", () => {
    expect(rows[1]).toEqual({ name: 'a', nick: undefined, at: 30, hidden: true })
    expect(Object.keys(list.shape.shape)).toEqual(['name', 'nick', 'at', 'hidden'])
    expect(list.shape.safeParse(rows[1]).success).toBe(true)
  })

  it("sorts a list by any column that has a heading, using the column's name as the sort parameter", () => {
    expect(sortBy(list.keys).unwrap().options).toEqual(['name', '-name', 'nick', '-nick', 'age', '-age'])
    expect(names(list.sorted(rows, 'age'))).toBe('acb')
    expect(names(list.sorted(rows, '-name'))).toBe('cba')
    expect(names(list.sorted(rows, 'nick'))).toBe('bca')
    expect(names(list.sorted(rows, 'hidden'))).toBe('bac')
  })

  it('draws a list with a cell for each column, and a dash in empty cells', () => {
    const text = list.draw('All', rows, context).toString()
    const cells = [...text.matchAll(/<td>(.*?)<\/td>/g)].map(([, cell]) => cell)
    // The heading of the last column is empty.
    expect(cells.slice(0, 5)).toEqual(['', 'a', '–', '<a href="/under/a">30</a>', 'drop a'])
    expect(cells.length).toBe(1 + 3 * 4)
    expect(text).toContain('aria-sort="ascending"')
    expect(list.draw('All', rows, { ...context, may: false }).toString()).not.toContain('drop')
  })
})
