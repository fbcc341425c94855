// Tests how the newest pipelines and deployments are read, on both databases.
import { beforeEach, describe, expect, it } from 'vitest'
import { latestDeployments, latestRuns, type LatestRuns } from '../../../src/features/gcpe/sql/latest.ts'
import { deploymentReporter } from '../../../src/features/deployments/sql/deployments.ts'
import { reportsBy } from '../../../src/core/store/ports/reporter.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { at, event, instance, job, rules } from '../../flow/world.ts'
import { deploymentEvent } from '../deployments/reported.ts'
import { deploymentOfEvent } from '../../../src/features/deployments/line-step.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { bothDatabases, type Bench } from '../../core/store/benches.ts'
import { exportQueue, snapshotWork } from '../../core/store/exported-run.ts'
import { insideChunks } from '../../../src/model/inside-chunks.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type { JobInside } from '../../../src/model/inside.ts'
import type { RunWork } from '../../../src/core/store/ports/runs.ts'
import type { PipelineFacts } from '../../../src/model/observation.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

describe.each(bothDatabases())('the newest pipelines and deployments on %s', (_name, bench) => {
  let here: Bench
  let store: Store
  let latest: LatestRuns
  beforeEach(async () => {
    here = closeAfterTest(await bench())
    store = await here.open()
    latest = store.on(latestRuns)
  })

  async function observe(id: number, status: string, facts: Partial<PipelineFacts> = {}): Promise<void> {
    const observed = event(status, { createdAt: at(id) }, [job(id * 10, 'build', status, {})], facts, id)
    await store.runs.transact(mergeObservations([observed], 'webhook', rules))
  }

  it('lists runs in insertion order, one page at a time', async () => {
    for (const id of [1, 3, 2]) await observe(id, 'running', { ref: `ref-${id}`, source: 'push' })
    const first = await latest.after(0, 2)
    expect(first).toMatchObject([
      { instance, projectId: 3, pipelineId: 1, ref: 'ref-1', source: 'push' },
      { pipelineId: 3, ref: 'ref-3' },
    ])
    expect(await latest.after(first[1]!.id, 2)).toMatchObject([{ pipelineId: 2 }])
  })

  it('changes the version of a run when the run changes, and returns no version of a deleted run', async () => {
    for (const id of [1, 2]) await observe(id, 'running')
    const ids = (await latest.after(0, 10)).map(({ id }) => id)
    const before = await latest.versions([...ids, 99])
    expect([...before.keys()].toSorted()).toEqual(ids.toSorted())
    here.move(1_000)
    await observe(2, 'success')
    const after = await latest.versions(ids)
    expect(ids.map(id => before.get(id) === after.get(id))).toEqual([true, false])
    expect(await latest.versions([])).toEqual(new Map())
  })

  it('loads runs with their jobs by row id', async () => {
    await observe(7, 'failed')
    const [listed] = await latest.after(0, 1)
    const { run } = (await latest.byId([listed!.id, 99])).get(listed!.id)!
    expect([run.key.pipelineId, [...run.jobs.keys()]]).toEqual([7, [70]])
    expect(await latest.testTotals(listed!.id, 10)).toEqual([])
  })

  it('returns only the chunks of a run that contain totals of test reports', async () => {
    await observe(7, 'failed', { sha: 'a' })
    let chunk: Chunk | undefined
    await store.runs.transact([snapshotWork(7, one => ({ chunk: (chunk = one), to: [exportQueue] }))])
    const [listed] = await latest.after(0, 1)
    const before = await latest.versions([listed!.id])
    const owner = { id: 70, kind: 'job', start: at(5), end: at(50) } as const
    const totals = { total: 3, passed: 2, failed: 1, errored: 0, skipped: 0, flaky: 0, seconds: 4 }
    const summary = { totals, suiteSeconds: [4], dropped: { cases: 0, suites: 0, failures: 0 } }
    const insides: JobInside[] = [
      { job: owner, tests: { summary, failures: [] } },
      { job: owner, tests: { failures: [{ suite: 's', name: 'a', result: 'fail' }] } },
    ]
    const reading: RunWork = {
      ...{ key: { instance, pipelineId: 7 }, jobs: [] },
      decide: known => {
        const { run, chunks } = insideChunks(known!.run, chunk!, insides)!
        return { run, timing: known!.timing, pending: chunks.map(one => ({ chunk: one, to: [exportQueue] })) }
      },
    }
    await store.runs.transact([reading])
    const found = await latest.testTotals(listed!.id, 10)
    expect(found.map(({ job, tests }) => [job.id, tests?.summary?.totals])).toEqual([[70, totals]])
    expect(await latest.versions([listed!.id])).not.toEqual(before)
  })

  it('lists deployments in insertion order, and loads them', async () => {
    const reports = [1, 2].map(id => deploymentOfEvent(deploymentEvent(id, 'success', at(id)), here.now())!)
    const deployments = reports.map(report => ({ report, countIn: 1_000 }))
    await store.runs.transact([], { reports: reportsBy(deploymentReporter, deployments) })
    const deployed = store.on(latestDeployments)
    const listed = await deployed.after(0, 10)
    expect(listed).toMatchObject([
      { instance, environment: 'production', at: at(1) },
      { environment: 'production', at: at(2) },
    ])
    expect(await deployed.after(listed[0]!.id, 10)).toHaveLength(1)
    const loaded = await deployed.byId([listed[1]!.id, 99])
    expect(loaded.map(({ view, deployment }) => [view.status, deployment.jobId])).toEqual([['success', 20]])
    expect(await deployed.byId([])).toEqual([])
  })
})
