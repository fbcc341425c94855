// Counters over stored rows are the same in every replica and after every restart, although rows are pruned and committed out of order.
import { expect, it } from 'vitest'
import fc from 'fast-check'
import { createNewest, type Newest, type OwnersCounts } from '../../../src/features/gcpe/newest.ts'

interface Row {
  readonly id: number
  readonly owner: string
  readonly name: string
  readonly counted: string
}

const letter = fc.constantFrom('a', 'b')
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ add: fc.integer({ min: 1, max: 900 }), owner: letter, name: letter, counted: letter }),
  },
  fc.record({ late: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ refresh: fc.nat(1) }),
  fc.record({ restart: fc.nat(1) }),
  fc.constant('prune' as const),
)

it('counts every row once, in each replica', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
      let rows: Row[] = []
      const saved = new Map<string, OwnersCounts>()
      const expected = new Map<string, number>()
      const held: Row[] = []
      let lastId = 0
      const commit = (row: Row): void => {
        rows = [...rows, row].sort((a, b) => a.id - b.id)
        const key = `${row.owner} ${row.name} ${row.counted}`
        expected.set(key, (expected.get(key) ?? 0) + 1)
      }
      const start = (): Newest<Row> =>
        createNewest<Row>({
          read: async (after, limit) => rows.filter(({ id }) => id > after).slice(0, limit),
          placeOf: row => row,
          rankOf: ({ id }) => id,
          counts: {
            load: async () => new Map(saved),
            save: async (owner, counts) => {
              saved.set(owner, structuredClone(counts))
            },
          },
        })
      const replicas = [start(), start()]
      const countsOf = (replica: Newest<Row>): Map<string, number> =>
        new Map(
          [...replica.all()].flatMap(([owner, names]) =>
            names.flatMap(({ name, counts }) =>
              [...counts].map(([counted, count]) => [`${owner} ${name} ${counted}`, count] as const),
            ),
          ),
        )
      for (const one of steps) {
        if (one === 'prune') {
          // Every replica has been scraped since, and the newest row of each name is too young to be pruned.
          for (const replica of replicas) await replica.refresh()
          const newest = new Map(rows.map(row => [`${row.owner} ${row.name}`, row.id]))
          const stored = Math.min(...['a', 'b'].map(owner => saved.get(owner)?.upTo ?? 0))
          rows = rows.filter(row => row.id > stored || newest.get(`${row.owner} ${row.name}`) === row.id)
        } else if ('add' in one) {
          const { add, ...place } = one
          for (let n = 0; n < add; n += 1) commit({ ...place, id: (lastId += 1) })
        } else if ('late' in one) {
          // Rows with ids that were given, but are committed by the next step.
          for (let n = 0; n < one.late; n += 1) held.push({ id: (lastId += 1), owner: 'a', name: 'a', counted: 'late' })
          continue
        } else if ('refresh' in one) await replicas[one.refresh]?.refresh()
        else replicas[one.restart] = start()
        for (const row of held.splice(0)) commit(row)
      }
      for (const replica of replicas) {
        await replica.refresh()
        expect(countsOf(replica)).toEqual(expected)
      }
    }),
  )
})
