// A scope on a full store shows the same as a store that contains only the scope's data. The tests compare each list, page, count, sum and search, on
// both databases.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bothDatabases, sqliteBench, type Bench } from './benches.ts'
import { chooser } from '../../../src/lib/chooser.ts'
import { eventChunk, type PlatformEvent } from '../../../src/model/event.ts'
import { event as someEvent } from './events-exercise.ts'
import { exportQueue, snapshotWork } from './exported-run.ts'
import { everything, type Scope } from '../../../src/core/store/ports/scope.ts'
import { isFull } from '../../full.ts'
import { day, hour, instance, job, minute, rules, t0 } from '../../flow/world.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import type { Observation } from '../../../src/model/observation.ts'
import type { Reads } from '../../../src/core/store/ports/reads.ts'
import type { RunCursor, RunQuery } from '../../../src/core/store/ports/views.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'
import type { ScopedSql } from '../../../src/core/store/sql/reading.ts'

const paths = ['a/shop', 'a/app', 'a/sub/app', 'b/app', 'b/Vault', 'c/x'] as const
const refs = ['main', 'dev'] as const
const statuses = ['success', 'failed', 'running'] as const

/** A pipeline with its job and its snapshot. `also` selects another event that is taken in with it: of its project, its group or the instance. */
interface Thing {
  readonly project: number
  readonly ref: (typeof refs)[number]
  readonly status: (typeof statuses)[number]
  readonly job: 'unit' | 'lint'
  readonly also: 'nothing' | 'event' | 'group event' | 'instance event'
  /** Whether a backend permanently rejects the pipeline's export. */
  readonly dead: boolean
  /** Whether the previous pipeline triggered this one. */
  readonly child: boolean
}

const thing: fc.Arbitrary<Thing> = fc.record({
  project: fc.nat(paths.length - 1),
  ref: fc.constantFrom(...refs),
  status: fc.constantFrom(...statuses),
  job: fc.constantFrom('unit' as const, 'lint' as const),
  also: fc.constantFrom(...(['nothing', 'event', 'group event', 'instance event'] as const)),
  dead: fc.boolean(),
  child: fc.boolean(),
})
const pattern = fc.constantFrom('a/**', 'A/*', '*/app', 'b/vault', '**/APP', 'c/**', '**', 'a/{shop,sub/*}', '!(a)/**')
const choice = fc.record({
  include: fc.array(pattern, { maxLength: 2 }),
  exclude: fc.array(pattern, { minLength: 1, maxLength: 2 }),
  bounds: fc.constantFrom('own' as const, 'hidden' as const),
})

const createdAt = (index: number): number => t0 - 20 * hour + index * 600_000

function observationOf({ project, ref, status, job: name, child }: Thing, index: number): Observation {
  const pipelineId = 100 + index
  const ends = status === 'running' ? {} : { finishedAt: createdAt(index) + 60_000 }
  const sourcePipeline = child && index > 0 ? { sourcePipeline: { pipelineId: pipelineId - 1 } } : {}
  return {
    key: { instance, pipelineId },
    origin: 'webhook',
    project: { id: project + 1, path: paths[project]! },
    pipeline: {
      facts: { status, ref, sha: `abc${index}`, source: 'push', name: `Name ${project % 2}`, ...sourcePipeline },
      times: { createdAt: createdAt(index), ...ends },
    },
    jobs: [
      job(pipelineId * 10, name, status, { started: index, finished: status === 'running' ? undefined : index + 50 }),
    ],
  }
}

/** Takes in the pipelines one after another, but only those that the scope covers. */
async function fill(store: Store, things: readonly Thing[], { sees }: Scope): Promise<void> {
  for (const [index, one] of things.entries()) {
    const path = paths[one.project]!
    if (sees({ instance, path })) await takeRun(store, one, index)
    const group = one.also === 'group event' ? path.split('/')[0]! : ''
    const isOfProject = one.also !== 'group event' && one.also !== 'instance event'
    if (sees({ instance, path: isOfProject ? path : group })) await takeAlso(store, one, index, group)
  }
}

async function takeRun(store: Store, one: Thing, index: number): Promise<void> {
  await store.runs.transact(mergeObservations([observationOf(one, index)], 'webhook', rules))
  if (one.status === 'running') return
  await store.runs.transact([snapshotWork(100 + index)])
  const { token, items } = await store.outbox.lease(exportQueue, 10, minute)
  await store.outbox.settle(
    token,
    items.map(({ id }) => (one.dead ? { id, as: 'rejected', status: 400, error: 'no' } : { id, as: 'delivered' })),
  )
}

async function takeAlso(store: Store, { also, project: at }: Thing, index: number, group: string): Promise<void> {
  const project = { id: at + 1, path: paths[at]! }
  const when = createdAt(index)
  const key = `${also} ${index}`
  if (also === 'nothing') return
  const audit: PlatformEvent = someEvent(key, {
    ...{ kind: 'audit', name: 'platform.audit', at: when, key, object: key },
    ...(also === 'event' ? { project } : { project: undefined }),
    ...(group !== '' && { group }),
  })
  const events = [{ event: audit, chunk: eventChunk(audit, when, 'generic'), to: [] }]
  await store.runs.transact([], { events })
}

/** Returns everything that can be read from the store, without row IDs. */
async function readAll({ views, ...reads }: Reads): Promise<unknown> {
  const pages = async (filter: Partial<RunQuery>, limit: number): Promise<unknown[]> => {
    const found: unknown[] = []
    let after: RunCursor | undefined
    do {
      const page = await views.search({ ...filter, limit, after })
      found.push([page.runs.map(({ run }) => run.key.pipelineId), page.next, page.searchedBackTo])
      after = page.next
    } while (after !== undefined)
    return found
  }
  const ids = (found: readonly { readonly run: { readonly key: { readonly pipelineId: number } } }[]): number[] =>
    found.map(({ run }) => run.key.pipelineId)
  const filters: Partial<RunQuery>[] = [
    ...[{}, { ref: 'main' }, { status: 'failed' }, { source: 'push' }],
    ...[{ project: 'a/' }, { project: 'b/Vault' }, { project: new Set(['a/shop', 'c/x']) }],
  ]
  const searches = [...filters, { text: 'app' }, { job: 'unit' }]
  const period = { since: t0 - 3 * day, until: t0 + day }
  const auditPages = []
  for (let place = (await views.audit(2)).next; place !== undefined; place = (await views.audit(2, place)).next)
    auditPages.push(place.at)
  const known = await views.listedKeys(100)
  const keys = Array.from({ length: 20 }, (_, index) => ({ instance, pipelineId: 100 + index }))
  const { next: _, ...firstAudit } = await views.audit(100)
  const letters = await reads.outbox.deadLetters(100)
  return {
    pages: await Promise.all(searches.flatMap(filter => [pages(filter, 2), pages(filter, 50)])),
    counts: await Promise.all(filters.map(async filter => views.countRuns(filter))),
    lists: [ids(await views.inStatus(['running', 'failed'], 3)), ids(await views.lastFinished(3))],
    sums: [await views.countInStatus(['running']), await views.countFinished(t0 - 10 * hour)],
    silent: (({ runs, count }) => [ids(runs), count])(await views.silentInStatus(['running'], t0 + day, 2)),
    keys: known.map(one => one.pipelineId),
    projects: [await views.projects(2), await views.projects(50), (await views.latestPaths(50)).toSorted()],
    each: await Promise.all(
      keys.map(async (key, index) => [
        (await views.find(index % paths.length, key.pipelineId))?.run.key.pipelineId,
        (await reads.runs.get(key))?.run.key.pipelineId,
        ids(await views.children(key)),
        (await views.chunks(key)).length,
        (await views.outboxOf(key)).map(({ state }) => state),
      ]),
    ),
    audit: [firstAudit, auditPages, await views.shownEvents({ ...period, as: 'audit', limit: 3 })],
    letters: letters.map(({ id: _, error: __, ...one }) => one),
  }
}

const base: Thing = {
  project: 0,
  ref: 'main',
  status: 'success',
  job: 'unit',
  also: 'nothing',
  dead: false,
  child: false,
}

/** Takes in a pipeline of the project with this path. */
async function report(store: Store, index: number, id: number, path: string): Promise<void> {
  const observed = { ...observationOf(base, index), project: { id, path } }
  await store.runs.transact(mergeObservations([observed], 'webhook', rules))
}

describe.each(bothDatabases())('a scope on %s', (name, bench) => {
  // Each run of the test fills two stores.
  const runs = (isFull ? 10 : 1) * (name === 'SQLite' ? 6 : 2)

  async function within<T>(open: () => Promise<Bench>, use: (store: Store) => Promise<T>): Promise<T> {
    const here = await open()
    try {
      return await use(await here.open())
    } finally {
      await here.dispose()
    }
  }

  it("shows exactly the data that a store with only the scope's data would show", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(thing, { minLength: 3, maxLength: 14 }),
        choice,
        async (things, { bounds, ...given }) => {
          const isChosen = chooser(given)
          const scope: Scope = { bounds, sees: ({ path }) => isChosen(path) }
          const expected = await within(sqliteBench, async store => {
            await fill(store, things, scope)
            return readAll(store.reads(everything))
          })
          await within(bench, async store => {
            await fill(store, things, everything)
            expect(await readAll(store.reads(scope))).toEqual(expected)
          })
        },
      ),
      { numRuns: runs, endOnFailure: true },
    )
  })

  it('retries and drops only the dead letters within a scope', async () => {
    const things = [0, 3, 4].map((project): Thing => ({ ...base, project, status: 'failed', dead: true }))
    await within(bench, async store => {
      await fill(store, things, everything)
      const all = await store.outbox.deadLetters(10)
      const [other] = all.filter(({ pipelineId }) => pipelineId === 100)
      const { outbox } = store.reads({ bounds: 'own', sees: ({ path }) => path.startsWith('b/') })
      expect(await outbox.deadLetter(other!.id)).toBe(undefined)
      expect([await outbox.retryDead([other!.id]), await outbox.dropDead([other!.id])]).toEqual([0, 0])
      expect(await outbox.dropDead('all')).toBe(2)
      expect((await store.outbox.deadLetters(10)).map(({ id }) => id)).toEqual([other!.id])
    })
  })

  it('applies a scope to the latest path of a moved project, with all its data, and to a project that has just appeared', async () => {
    await within(bench, async store => {
      const { views } = store.reads({ bounds: 'hidden', sees: ({ path }) => !path.startsWith('secret/') })
      const seen = async (): Promise<number[]> =>
        (await views.search({ limit: 10 })).runs.map(({ run }) => run.key.pipelineId)
      await fill(store, [base], everything)
      expect(await seen()).toEqual([100])
      await report(store, 1, 1, 'secret/shop')
      expect(await seen()).toEqual([])
      // A later report about an older pipeline does not restore the project's old path.
      await report(store, 0, 1, 'a/shop')
      expect(await seen()).toEqual([])
      await report(store, 2, 9, 'secret/new')
      await report(store, 3, 10, 'a/new')
      expect(await seen()).toEqual([103])
      await report(store, 4, 1, 'a/shop')
      expect(await seen()).toEqual([104, 103, 101, 100])
    })
  })
})

it('does not compile a query that lacks a scope condition', () => {
  const scoped: ScopedSql = 'SELECT 1 FROM runs WHERE {visible}'
  // @ts-expect-error it has none
  const bare: ScopedSql = 'SELECT 1 FROM runs'
  expect(scoped).not.toBe(bare)
})
