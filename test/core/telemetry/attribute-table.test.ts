// Tests a table's attribute cache. It may change how attributes are written, but never what is written.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AttributeTable, type RowValues } from '../../../src/core/telemetry/otlp/attribute.ts'
import { BackWriter } from '../../../src/core/telemetry/otlp/back-writer.ts'
import { runs } from '../../full.ts'

/** Recurrence marks of rows: two groups, one of two rows and one of three, with rows between them that do not recur. */
const marks = [undefined, true, true, undefined, 'runner', 'runner', 'runner', undefined] as const

function tables(): { readonly remembering: AttributeTable; readonly forgetful: AttributeTable } {
  const rows = marks.map((recurs, n) => ({ names: [{ key: `row.${n}` }, { key: `again.${n}` }], recurs }))
  const forgetful = rows.map(({ names }) => ({ names }))
  return { remembering: new AttributeTable(rows), forgetful: new AttributeTable(forgetful) }
}

function written(table: AttributeTable, values: RowValues, tag: number): string {
  const writer = new BackWriter(16)
  table.write(writer, tag, values)
  return Buffer.from(writer.since(0)).toString('hex')
}

/** There are few values, and they are similar, so that they recur in every combination. */
const value = fc.constantFrom<RowValues[number]>(
  ...[undefined, '', '1', 1, true, 'true', 0, -0, Number.NaN, 2 ** 40, 0.5, 'a,b', 'é', 'x'.repeat(2_000)],
  ...[[], ['a', 'b'], ['a,b'], ['b', 'a'], ['1'], [1], ['x'.repeat(2_000)]],
)

describe('the cache of encoded attributes', () => {
  it('uses cached attributes only for equal values of the same field', () => {
    const one = fc.tuple(fc.tuple(...marks.map(() => value)), fc.constantFrom(0x4a, 0x32))
    fc.assert(
      fc.property(fc.array(one, { maxLength: 40 }), all => {
        const { remembering, forgetful } = tables()
        for (const [values, tag] of all) {
          expect(written(remembering, values, tag)).toBe(written(forgetful, values, tag))
        }
      }),
      runs(500),
    )
  })

  it('limits the size of the attribute cache, and writes attributes beyond the limit correctly', () => {
    const { remembering, forgetful } = tables()
    for (const n of [...Array(2_000).keys(), ...Array(2_000).keys()]) {
      const values = ['a', n, n % 7, n, `runner ${n % 700}`, ['tag', `${n % 3}`], n % 11, 'z']
      expect(written(remembering, values, 0x4a)).toBe(written(forgetful, values, 0x4a))
    }
  })
})
