// Tests the pages about deployments with more environments or deployments than a page reads.
import { expect, it } from 'vitest'
import { environmentsOf, maxCounted } from '../../../src/features/deployments/pages/environment-figures.ts'
import { changesOf } from '../../../src/features/deployments/pages/change-figures.ts'
import { changeReads, changeReporter } from '../../../src/features/deployments/sql/changes.ts'
import { incidentReads } from '../../../src/features/deployments/sql/incidents.ts'
import { observedChange } from '../../../src/features/deployments/model/change.ts'
import { behindOf } from '../../../src/features/deployments/pages/behind.ts'
import { sqliteBench } from '../../core/store/benches.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { deploymentReads } from '../../../src/features/deployments/sql/deployment-reads.ts'
import { deploymentReporter } from '../../../src/features/deployments/sql/deployments.ts'
import { everything } from '../../../src/core/store/ports/scope.ts'
import { instance, second, t0 } from '../../flow/world.ts'
import { observedEvent, type Deployment } from '../../../src/features/deployments/model/deployment.ts'
import { report } from './reported.ts'

const project = { id: 301, path: 'acme/shop', defaultBranch: 'main' }

function deployed(id: number, environment: string, of: Pick<Deployment, 'instance'> = { instance }): Deployment {
  const facts = { status: 'success', at: t0 + id * second, environment, revision: `r${id}` }
  return { ...of, project, deploymentId: id, event: observedEvent(facts) }
}

it('shows how far an environment is behind even if 2,000 others were deployed later', async () => {
  const here = closeAfterTest(await sqliteBench())
  const store = await here.open()
  const other = { instance: 'https://git.example.net' }
  const reviews = Array.from({ length: 2_001 }, (_, n) => deployed(n + 10, `review/${n}`))
  await report(store, deploymentReporter, [
    ...[deployed(1, 'production'), deployed(2, 'production'), deployed(3, 'production', other)],
    ...reviews,
  ])
  const deployments = store.reads(everything).on(deploymentReads)
  const countBehind = async () => ({ as: 'counted', commits: 4, isAll: true }) as const
  const of = { projectId: project.id, environment: 'production' }
  const revision = async (asked: Parameters<typeof behindOf>[1]) =>
    behindOf({ deployments, countBehind }, asked).then(found => found && 'revision' in found && found.revision)
  expect(await revision({ ...of, instance })).toBe('r2')
  expect(await revision({ ...of, ...other })).toBe('r3')
  expect(await revision(of)).toBe('r3')
  expect(await revision({ ...of, environment: 'staging' })).toBeUndefined()
})

it('counts the newest 5,000 deployments and changes, says how far back these reach, and divides by that time', async () => {
  const here = closeAfterTest(await sqliteBench())
  const store = await here.open()
  const count = maxCounted + 1
  const reads = store.reads(everything)
  const sources = {
    deployments: reads.on(deploymentReads),
    incidents: reads.on(incidentReads),
    isProduction: () => true,
  }
  const now = t0 + count * second
  const figures = async () =>
    environmentsOf(sources, {}, { span: '24h', project: undefined, own: undefined, limit: 1 }, now)
  const changed = async () =>
    changesOf({ changes: reads.on(changeReads) }, { span: '24h', project: undefined, own: undefined, limit: 1 }, now)
  const change = (iid: number, of = project) =>
    ({
      instance,
      project: of,
      iid,
      event: observedChange({ state: 'open' }, t0 + iid * second),
      stateAt: t0 + iid * second,
    }) as const
  await report(
    store,
    deploymentReporter,
    Array.from({ length: maxCounted }, (_, n) => deployed(n + 2, 'production')),
  )
  await report(
    store,
    changeReporter,
    Array.from({ length: maxCounted }, (_, n) => change(n + 2)),
  )
  await store.on(async sql => sql.change(`UPDATE deployments SET figures = '{"outcome":"succeeded"}'`))
  const whole = await figures()
  expect(whole).toMatchObject({ isCut: false, environments: [{ keys: { perDay: maxCounted } }] })
  expect([whole.backTo, (await changed()).backTo]).toEqual([undefined, undefined])
  await report(store, deploymentReporter, [deployed(1, 'staging')])
  await report(store, changeReporter, [change(1, { ...project, id: 302, path: 'acme/app' })])
  const { backTo, isCut, environments } = await figures()
  expect([backTo, isCut]).toEqual([t0 + 2 * second, true])
  expect(environments[0]?.keys.perDay).toBeCloseTo(86_400 * (maxCounted / (count - 2)))
  expect(await changed()).toMatchObject({ backTo: t0 + 2 * second, projectCount: 2 })
})
