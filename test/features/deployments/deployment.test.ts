// Tests how reports of a deployment are merged: neither order nor duplicates matter.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { observedEvent, mergeDeployment, viewDeployment } from '../../../src/features/deployments/model/deployment.ts'
import type { Deployment } from '../../../src/features/deployments/model/deployment.ts'
import { deploymentOfEvent } from '../../../src/features/deployments/line-step.ts'
import { runs } from '../../full.ts'
import { spanOf } from './reported.ts'
import { t0 } from '../../flow/world.ts'
import type { PlatformEvent } from '../../../src/model/event.ts'

const base = { instance: 'https://git.example.com', project: { id: 3, path: 'acme/shop' }, jobId: 10 }
const observed = (status: string, at: number, more = {}): Deployment => ({
  ...base,
  deploymentId: 1,
  event: observedEvent({ status, at, ...more }),
})
const job = (status: string, finishedAt: number, more = {}): Deployment => ({
  ...base,
  job: { status, finishedAt, span: spanOf(10), ...more },
})
const all = (...reports: readonly Deployment[]): Deployment => reports.reduce(mergeDeployment)

const report = fc.oneof(
  fc
    .record({
      status: fc.constantFrom('created', 'running', 'success', 'failed', 'canceled', 'odd'),
      at: fc.integer({ min: t0, max: t0 + 9_000 }),
      environment: fc.option(fc.constantFrom('prod', 'test'), { nil: undefined }),
    })
    .map(({ status, at, environment }) =>
      observed(status, at, { ...(status === 'running' && { beganAt: at }), ...(environment && { environment }) }),
    ),
  fc
    .record({ status: fc.constantFrom('success', 'failed'), at: fc.integer({ min: t0, max: t0 + 9_000 }) })
    .map(({ status, at }) => job(status, at, { startedAt: at - 1 })),
)

describe('merging reports of a deployment', () => {
  it('merges the reports of a deployment into the same result, whatever their order, and even if some are repeated', () => {
    const same = fc.property(
      fc.array(report, { minLength: 1, maxLength: 6 }),
      fc.infiniteStream(fc.nat()),
      (reports, dice) => {
        const shuffled = [...reports, ...reports]
          .map(one => [dice.next().value!, one] as const)
          .sort(([a], [b]) => a - b)
        expect(viewDeployment(all(...shuffled.map(([, one]) => one)))).toEqual(viewDeployment(all(...reports)))
      },
    )
    fc.assert(same, runs(1_000))
  })

  it("takes a deployment's result from its event, and its time from its job if the job has the same result", () => {
    const both = all(observed('success', t0 + 5_000), job('success', t0 + 5_432, { startedAt: t0 + 1_000 }))
    expect(viewDeployment(both)).toMatchObject({ outcome: 'succeeded', startedAt: t0 + 1_000, finishedAt: t0 + 5_432 })
    const apart = all(observed('failed', t0 + 5_000), job('success', t0 + 5_432))
    expect(viewDeployment(apart)).toMatchObject({ outcome: 'failed', finishedAt: t0 + 5_000 })
    expect(viewDeployment(all(observed('running', t0), job('success', t0 + 1)))).toMatchObject({ outcome: 'succeeded' })
    expect(viewDeployment(observed('canceled', t0))).toMatchObject({ status: 'canceled', outcome: undefined })
  })

  it('reports no deployment if only a failed job is known', () => {
    expect(viewDeployment(job('failed', t0))).toBeUndefined()
    expect(viewDeployment(all(job('failed', t0), observed('failed', t0)))).toMatchObject({ outcome: 'failed' })
  })

  it('reads a deployment from an event, but not from an event without an id', () => {
    const event = (attributes: Record<string, string>, more: Partial<PlatformEvent> = {}): PlatformEvent => ({
      ...{ instance: base.instance, kind: 'deployment', name: 'platform.deployment', severity: 'info', body: '' },
      ...{ attributes, object: 'o', content: 'c', project: base.project, ...more },
    })
    const status = { 'platform.deployment.status': 'running' }
    const read = deploymentOfEvent(event({ ...status, 'deployment.id': '5', 'cicd.pipeline.task.run.id': '10' }), t0)
    expect(read).toEqual({ ...base, deploymentId: 5, event: observedEvent({ status: 'running', at: t0, beganAt: t0 }) })
    expect(deploymentOfEvent(event(status), t0)).toBeUndefined()
    expect(deploymentOfEvent(event({ ...status, 'deployment.id': '1e99' }), t0)).toBeUndefined()
    expect(deploymentOfEvent(event({ 'deployment.id': '5' }), t0)).toBeUndefined()
    expect(deploymentOfEvent(event({ ...status, 'deployment.id': '5' }, { kind: 'change' }), t0)).toBeUndefined()
    expect(deploymentOfEvent(event({ ...status, 'deployment.id': '5' }, { project: undefined }), t0)).toBeUndefined()
  })
})
