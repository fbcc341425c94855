// What every store promises of the newest pipelines and deployments, as one function: run against each database.
import { beforeEach, describe, expect, it } from 'vitest'
import { latestDeployments } from '../../src/features/deployments/sql/latest-deployments.ts'
import { deploymentReporter } from '../../src/features/deployments/sql/deployments.ts'
import { reportsBy } from '../../src/core/store/ports/reporter.ts'
import { closeAfterTest } from '../support/after-test.ts'
import { at, event, instance, job, rules } from '../flow/world.ts'
import { deploymentEvent } from './deployments-exercise.ts'
import { deploymentOfEvent } from '../../src/model/event-reports.ts'
import { mergeObservations } from '../../src/core/take-in/merge-observations.ts'
import type { Bench } from './benches.ts'
import type { PipelineFacts } from '../../src/model/observation.ts'
import type { Store } from '../../src/core/store/ports/store.ts'

export function latestExercise(name: string, bench: () => Promise<Bench>): void {
  describe(`the newest pipelines and deployments on ${name}`, () => {
    let here: Bench
    let store: Store
    beforeEach(async () => {
      here = closeAfterTest(await bench())
      store = await here.open()
    })

    async function observe(id: number, status: string, facts: Partial<PipelineFacts> = {}): Promise<void> {
      const observed = event(status, { createdAt: at(id) }, [job(id * 10, 'build', status, {})], facts, id)
      await store.runs.transact(mergeObservations([observed], 'webhook', rules))
    }

    it('lists runs in the order in which they were added, a page at a time', async () => {
      for (const id of [1, 3, 2]) await observe(id, 'running', { ref: `ref-${id}`, source: 'push' })
      const first = await store.latest.runsAfter(0, 2)
      expect(first).toMatchObject([
        { instance, projectId: 3, pipelineId: 1, ref: 'ref-1', source: 'push' },
        { pipelineId: 3, ref: 'ref-3' },
      ])
      expect(await store.latest.runsAfter(first[1]!.id, 2)).toMatchObject([{ pipelineId: 2 }])
    })

    it('gives a run another version when it changes, and none when it is gone', async () => {
      for (const id of [1, 2]) await observe(id, 'running')
      const ids = (await store.latest.runsAfter(0, 10)).map(({ id }) => id)
      const before = await store.latest.versions([...ids, 99])
      expect([...before.keys()].toSorted()).toEqual(ids.toSorted())
      here.move(1_000)
      await observe(2, 'success')
      const after = await store.latest.versions(ids)
      expect(ids.map(id => before.get(id) === after.get(id))).toEqual([true, false])
      expect(await store.latest.versions([])).toEqual(new Map())
    })

    it('loads runs with their jobs', async () => {
      await observe(7, 'failed')
      const [listed] = await store.latest.runsAfter(0, 1)
      const { run } = (await store.latest.runs([listed!.id, 99])).get(listed!.id)!
      expect([run.key.pipelineId, [...run.jobs.keys()]]).toEqual([7, [70]])
      expect(await store.latest.testTotals(listed!.id, 10)).toEqual([])
    })

    it('lists deployments in the order in which they were added, and loads them', async () => {
      const reports = [1, 2].map(id => deploymentOfEvent(deploymentEvent(id, 'success', at(id)), here.now())!)
      const deployments = reports.map(report => ({ report, countIn: 1_000 }))
      await store.runs.transact([], { reports: reportsBy(deploymentReporter, deployments) })
      const latest = store.on(latestDeployments)
      const listed = await latest.after(0, 10)
      expect(listed).toMatchObject([
        { instance, environment: 'production', at: at(1) },
        { environment: 'production', at: at(2) },
      ])
      expect(await latest.after(listed[0]!.id, 10)).toHaveLength(1)
      const loaded = await latest.byId([listed[1]!.id, 99])
      expect(loaded.map(({ view, deployment }) => [view.status, deployment.jobId])).toEqual([['success', 20]])
      expect(await latest.byId([])).toEqual([])
    })
  })
}
