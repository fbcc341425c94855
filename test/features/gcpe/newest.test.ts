// Tests that each row is counted once, although rows are committed out of order.
import { expect, it } from 'vitest'
import fc from 'fast-check'
import { createNewest } from '../../../src/features/gcpe/newest.ts'

interface Row {
  readonly id: number
  readonly owner: string
  readonly name: string
  readonly counted: string
}

const letter = fc.constantFrom('a', 'b')
const step = fc.oneof(
  fc.record({ add: fc.integer({ min: 1, max: 900 }), owner: letter, name: letter, counted: letter }),
  // The rows of a `late` step get lower ids than the rows of the next step, but are committed together with them.
  fc.record({ late: fc.integer({ min: 1, max: 20 }) }),
  fc.constant('refresh' as const),
)

it('counts every row added after the first refresh once, and returns the newest row of each name', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
      let rows: Row[] = [{ id: 1, owner: 'a', name: 'a', counted: 'a' }]
      const expected = new Map<string, number>([['a a a', 0]])
      const held: Row[] = []
      let lastId = 1
      const newest = createNewest<Row>({
        read: async (after, limit) => rows.filter(({ id }) => id > after).slice(0, limit),
        keysOf: row => row,
        rankOf: ({ id }) => id,
      })
      await newest.refresh()
      for (const one of [...steps, { add: 1, owner: 'b', name: 'b', counted: 'b' }]) {
        if (one === 'refresh') await newest.refresh()
        else if ('late' in one) {
          for (let n = 0; n < one.late; n += 1) held.push({ id: (lastId += 1), owner: 'a', name: 'a', counted: 'late' })
        } else {
          const { add, ...keys } = one
          const added = [...Array.from({ length: add }, () => ({ ...keys, id: (lastId += 1) })), ...held.splice(0)]
          rows = [...rows, ...added].sort((a, b) => a.id - b.id)
          for (const { owner, name, counted } of added) {
            const key = `${owner} ${name} ${counted}`
            expected.set(key, (expected.get(key) ?? 0) + 1)
          }
          await newest.refresh()
        }
      }
      const counts = [...newest.all()].flatMap(([owner, names]) =>
        names.flatMap(({ name, counts: own }) =>
          [...own].map(([counted, count]) => [`${owner} ${name} ${counted}`, count] as const),
        ),
      )
      expect(new Map(counts)).toEqual(expected)
      for (const [owner, names] of newest.all())
        for (const { name, row } of names)
          expect(row).toEqual(rows.findLast(one => one.owner === owner && one.name === name))
    }),
  )
})
