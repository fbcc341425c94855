// Tests that a scope sees the same deployments, changes and incidents as a store that never received any others, on both databases.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bothDatabases, sqliteBench, type Bench } from '../../core/store/benches.ts'
import { changeReads, changeReporter } from '../../../src/features/deployments/sql/changes.ts'
import { chooser } from '../../../src/lib/chooser.ts'
import { day, event, instance, minute, rules, t0 } from '../../flow/world.ts'
import { deploymentReads } from '../../../src/features/deployments/sql/deployment-reads.ts'
import { deploymentReporter } from '../../../src/features/deployments/sql/deployments.ts'
import { everything, type Scope } from '../../../src/core/store/ports/scope.ts'
import { incidentReads, incidentReporter } from '../../../src/features/deployments/sql/incidents.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { observedChange } from '../../../src/features/deployments/model/change.ts'
import { observedEvent } from '../../../src/features/deployments/model/deployment.ts'
import { reportedIncident } from '../../../src/features/deployments/model/incident.ts'
import { report } from './reported.ts'
import type { Reads } from '../../../src/core/store/ports/reads.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const paths = ['a/shop', 'a/app', 'a/sub/app', 'b/app', 'b/Vault', 'c/x'] as const

const thing = fc.record({
  project: fc.nat(paths.length - 1),
  kind: fc.constantFrom('deployment', 'change', 'incident'),
})
type Thing = typeof thing extends fc.Arbitrary<infer T> ? T : never
const pattern = fc.constantFrom('a/**', 'A/*', '*/app', 'b/vault', '**/APP', 'c/**', '**', 'a/{shop,sub/*}', '!(a)/**')
const choice = fc.record({
  include: fc.array(pattern, { maxLength: 2 }),
  exclude: fc.array(pattern, { minLength: 1, maxLength: 2 }),
  bounds: fc.constantFrom('own' as const, 'hidden' as const),
})

/** Writes the reports that the scope sees, one after another. */
async function fill(store: Store, things: readonly Thing[], { sees }: Scope): Promise<void> {
  for (const [index, { project, kind }] of things.entries()) {
    const of = { instance, project: { id: project + 1, path: paths[project]! } }
    if (!sees({ instance, path: of.project.path })) continue
    const [at, iid] = [t0 + index * minute, index + 1]
    const facts = { status: 'success', at, environment: 'production' }
    const deployment = { ...of, deploymentId: iid, event: observedEvent(facts) }
    const change = { ...of, iid, event: observedChange({ state: 'open', title: `Change ${iid}` }, at) }
    const incident = reportedIncident({ ...of, iid, state: 'opened', at, openedAt: at })!
    if (kind === 'deployment') await report(store, deploymentReporter, [deployment], 1)
    else if (kind === 'change') await report(store, changeReporter, [change], 1)
    else await report(store, incidentReporter, [incident], 1)
  }
}

const period = { since: t0 - day, until: t0 + day }

/** Returns everything that can be read from the store, without row ids. */
async function readAll({ on }: Pick<Reads, 'on'>): Promise<unknown> {
  const [deployments, incidents, changes] = [on(deploymentReads), on(incidentReads), on(changeReads)]
  const states = await changes.states()
  return [
    (await deployments.list({ ...period, limit: 3 })).map(({ id: _, ...one }) => one),
    (await deployments.current({ limit: 3 })).map(({ id: _, ...one }) => one),
    [await incidents.opened({ ...period, limit: 3 }), await incidents.open({ limit: 50 })],
    (await changes.list({ ...period, limit: 3 })).map(({ id: _, ...one }) => one),
    states.toSorted((a, b) => a.project.id - b.project.id),
  ]
}

describe.each(bothDatabases())('deployments in a scope on %s', (_name, bench) => {
  async function within<T>(open: () => Promise<Bench>, use: (store: Store) => Promise<T>): Promise<T> {
    const here = await open()
    try {
      return await use(await here.open())
    } finally {
      await here.dispose()
    }
  }

  it("shows the same deployments in a scope as in a store that contains only the scope's projects", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(thing, { minLength: 3, maxLength: 20 }),
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
      { numRuns: 3, endOnFailure: true },
    )
  })

  it('hides the deployments of a project that moves out of the scope', async () => {
    await within(bench, async store => {
      const { on } = store.reads({ bounds: 'hidden', sees: ({ path }) => !path.startsWith('secret/') })
      const listed = async (): Promise<number> => (await on(deploymentReads).list({ ...period, limit: 5 })).length
      await fill(store, [{ project: 0, kind: 'deployment' }], everything)
      expect(await listed()).toBe(1)
      const moved = { ...event('success', { finishedAt: t0 + minute }, []), project: { id: 1, path: 'secret/shop' } }
      await store.runs.transact(mergeObservations([moved], 'webhook', rules))
      expect(await listed()).toBe(0)
    })
  })
})
