// Tests the pages about deployments with more environments or deployments than a page reads.
import { expect, it } from 'vitest'
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
