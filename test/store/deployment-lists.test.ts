// The large indexes of deployments on SQLite are written late: what is counted, listed and pruned is the same as if they were written at once.
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { observedEvent } from '../../src/model/deployment.ts'
import { sqliteBench, type BareBench } from './benches.ts'
import { instance, minute, t0 } from '../flow/world.ts'
import type { Store } from '../../src/store/ports/store.ts'

const day = 24 * 60 * minute
const everything = { since: 0, until: t0 + 30 * day, limit: 10_000 }

interface Report {
  readonly deploymentId: number
  readonly projectId: number
  readonly environment: string
  readonly revision: string
  readonly status: string
  /** When it ended, minutes after the beginning. */
  readonly ended: number
}

const report: fc.Arbitrary<Report> = fc.record({
  deploymentId: fc.nat({ max: 30 }),
  projectId: fc.integer({ min: 1, max: 2 }),
  environment: fc.constantFrom('production', 'staging'),
  revision: fc.constantFrom('a', 'b', 'c'),
  status: fc.constantFrom('running', 'success', 'success', 'failed'),
  ended: fc.nat({ max: 20 }),
})
const step = fc.oneof(
  { weight: 6, arbitrary: report },
  { weight: 2, arbitrary: fc.constant('count' as const) },
  { weight: 1, arbitrary: fc.constant('list' as const) },
  { weight: 1, arbitrary: fc.constant('prune' as const) },
)

async function take(store: Store, reports: readonly Report[]): Promise<void> {
  const deployments = reports.map(({ deploymentId, projectId, environment, revision, status, ended }) => ({
    deployment: {
      instance,
      project: { id: projectId, path: `acme/${projectId}` },
      deploymentId: projectId * 100_000 + deploymentId,
      event: observedEvent({ status, at: t0 + ended * minute, environment, revision }),
    },
    countIn: 3 * minute,
  }))
  await store.runs.transact([], { token: '', ids: [], deployments })
}

async function counted(store: Store): Promise<unknown[]> {
  const seen: unknown[] = []
  await store.deployments.countDue(4, (due, around) => {
    seen.push([due.deployment.deploymentId, around])
    return { figures: { environment: 'production', outcome: 'succeeded', finishedAt: t0 } }
  })
  return seen
}

async function newBench(): Promise<{ bench: BareBench; store: Store }> {
  const bench = await sqliteBench()
  const store = await bench.open()
  onTestFinished(async () => {
    await store.close()
    await bench.dispose()
  })
  return { bench, store }
}

it('compares, lists and prunes the same, whenever they are listed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async steps => {
      const [late, early] = [await newBench(), await newBench()]
      for (const one of steps) {
        for (const { bench } of [late, early]) bench.move(minute)
        const outcomes = await Promise.all(
          [late, early].map(async ({ store }) => {
            if (one === 'count') return counted(store)
            if (one === 'prune') return store.deployments.prune(t0 + 5 * minute, 100)
            if (one !== 'list') return take(store, [one])
            if (store === early.store) await store.deployments.list(everything)
            return undefined
          }),
        )
        expect(outcomes[0]).toEqual(outcomes[1])
      }
      for (const read of [
        async (store: Store) => store.deployments.current({ limit: 100 }),
        async (store: Store) => store.deployments.list(everything),
        async (store: Store) => store.deployments.list({ ...everything, project: 'acme/1' }),
      ])
        expect(await read(late.store)).toEqual(await read(early.store))
    }),
    { numRuns: 20 },
  )
})

it('thousands are listed in steps while more come, and none is missing', async () => {
  const { bench, store } = await newBench()
  const ids = Array.from({ length: 6_000 }, (_, id) => id)
  for (let first = 0; first < ids.length; first += 60) {
    const some = ids.slice(first, first + 60)
    await take(
      store,
      some.map(id => ({
        ...{ deploymentId: id, projectId: (id % 7) + 1, environment: 'production', revision: `${id % 100}` },
        ...{ status: 'success', ended: id },
      })),
    )
  }
  const table = (await store.tables.list()).find(({ name }) => name === 'deployments')!
  const values = async (column: string): Promise<unknown[]> => {
    const rows = await store.tables.read(table, undefined, ids.length)
    return rows.map(row => row[table.columns.indexOf(column)])
  }
  expect(new Set(await values('listed'))).toEqual(new Set([0, 1]))
  bench.move(10 * minute)
  for (let seen = await counted(store); seen.length > 0; seen = await counted(store));
  expect((await values('recent')).filter(recent => recent === 1).length).toBeLessThan(2_048)
  const listed = await store.deployments.list(everything)
  expect(new Set(listed.map(({ deployment }) => deployment.deploymentId)).size).toBe(ids.length)
})
