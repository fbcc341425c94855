// Tests on both databases how deployments are stored, and how events wait for the span of their job.
import pg from 'pg'
import {
  deployments as storedDeployments,
  deploymentReporter,
} from '../../../src/features/deployments/sql/deployments.ts'
import { reportsBy } from '../../../src/core/store/ports/reporter.ts'
import { chunkOf } from '../../support/of-run.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { bothDatabases, type BareBench } from '../../core/store/benches.ts'
import { newDatabase } from '../../core/store/new-database.ts'
import { openPostgres } from '../../support/stores.ts'
import { observedEvent, type Deployment } from '../../../src/features/deployments/model/deployment.ts'
import { counted, deploymentEvent } from './reported.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import {
  at,
  event as pipelineEvent,
  instance,
  job,
  minute,
  rules,
  second,
  t0,
  settlerOf,
  snapshotterWith,
} from '../../flow/world.ts'
import { deploymentOfEvent } from '../../../src/features/deployments/line-step.ts'
import { exportedEvents } from '../../core/store/events-exercise.ts'
import { eventChunk, isEvent, type EventChunk, type PlatformEvent } from '../../../src/model/event.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import { jobSpanOf } from '../../../src/features/deployments/sql/deployment-reads.ts'
import type { Decide } from '../../../src/features/deployments/sql/counted.ts'
import type { DeploymentFigures, Neighbours } from '../../../src/features/deployments/model/deployment-figures.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const logs = { destination: 'default', signal: 'logs' } as const
const traces = { destination: 'default', signal: 'traces' } as const

type DecideDeployment = Decide<Deployment, DeploymentFigures, Neighbours>

/** The decision not to count a deployment. */
const nothing = { counted: undefined, written: [], measures: [] }

describe.each(bothDatabases())('the repository of deployments on %s', (name, bench) => {
  let here: BareBench
  let store: Store
  beforeEach(async () => {
    here = closeAfterTest(await bench())
    store = await here.open()
  })

  async function take(...events: readonly PlatformEvent[]): Promise<void> {
    const received = events.map(one => {
      const jobId = deploymentOfEvent(one, here.now())?.jobId
      const waits = jobId === undefined ? undefined : { jobId, ms: 2 * minute, spanOf: jobSpanOf }
      return { event: one, chunk: eventChunk(one, here.now(), 'generic'), to: [logs], waits }
    })
    const deployments = events.flatMap(one => {
      const deployment = deploymentOfEvent(one, here.now())
      return deployment === undefined ? [] : [{ report: deployment, countIn: 2 * minute }]
    })
    await store.runs.transact([], {
      events: received,
      reports: reportsBy(deploymentReporter, deployments),
    })
  }

  /** Ends pipeline 7, with the given jobs that deploy. */
  async function endPipeline(...jobs: readonly number[]): Promise<void> {
    const ended = jobs.map(id =>
      job(id, 'deploy', 'success', { finished: 50 }, { environment: { name: 'production', action: 'start' } }),
    )
    await store.runs.transact(
      mergeObservations([pipelineEvent('success', { finishedAt: at(60) }, ended)], 'webhook', rules),
    )
    here.move(rules.settle)
    const settler = settlerOf(store, {
      perTransaction: 10,
      snapshotter: snapshotterWith({ steps: [counted] }),
      clock: { now: () => here.now(), sleep: async () => undefined },
    })
    await settler.drain()
  }

  const due = async (): Promise<EventChunk[]> => exportedEvents(store)

  async function pipelines(): Promise<Chunk[]> {
    const { items } = await store.outbox.lease(traces, 100, minute)
    return items.map(chunkOf).flatMap(chunk => (isEvent(chunk) ? [] : chunk))
  }

  it("holds a deployment event back until its job is in a snapshot, then exports it at once with the job's span", async () => {
    await take(deploymentEvent(1, 'running', t0 + 20 * second))
    expect(await due()).toEqual([])
    await take(deploymentEvent(1, 'success', t0 + 50 * second))
    expect(await due()).toEqual([])
    await endPipeline(10)
    const found = await due()
    expect(found.map(({ event: { body } }) => body).sort()).toEqual(['Flag 1 running', 'Flag 1 success'])
    for (const { job: span } of found) expect(span).toMatchObject({ jobId: 10, pipelineId: 7, name: 'deploy' })
    expect(found[0]?.job?.trace).toEqual((await pipelines())[0]?.trace)
  })

  it("adds the id of a deployment that was already reported to its job's snapshot", async () => {
    await take(deploymentEvent(1, 'success', t0 + 50 * second))
    await endPipeline(10, 20)
    const [chunk] = await pipelines()
    expect(chunk?.jobs.map(({ id, deploymentId }) => [id, deploymentId])).toEqual([
      [10, 1],
      [20, undefined],
    ])
    expect((await store.runs.get({ instance, pipelineId: 7 }))?.run.jobs.size).toBe(2)
  })

  it("immediately adds the job's span to a deployment event that arrives after the snapshot", async () => {
    await endPipeline(10)
    await take(deploymentEvent(1, 'success', t0 + 50 * second))
    expect(await due()).toMatchObject([{ job: { jobId: 10, pipelineId: 7 } }])
  })

  it('exports a deployment event without a span if its job does not become known in time, even when the event is repeated', async () => {
    await take(deploymentEvent(1, 'success', t0 + 50 * second), deploymentEvent(2, 'success', t0, null))
    expect(await due()).toHaveLength(1)
    here.move(2 * minute)
    const { token, items } = await store.outbox.lease(logs, 10, minute)
    await endPipeline(10)
    await store.outbox.settle(token, [{ id: items[0]!.id, as: 'later', forMs: second, error: 'lost', counted: true }])
    here.move(minute)
    const again = await due()
    expect(again).toEqual(items.map(chunkOf))
    expect(again[0]?.job).toBeUndefined()
  })

  it('releases the deployments leased by a crashed process at once, if only one process may serve the store', async () => {
    await take(deploymentEvent(1, 'success', t0 + 50 * second))
    here.move(3 * minute)
    expect(await store.on(storedDeployments).take(10, minute)).toEqual([])
    await store.on(storedDeployments).countDue(10, () => 'apart')
    expect(await store.on(storedDeployments).take(10, minute)).toHaveLength(1)
    await take(deploymentEvent(1, 'running', t0 + 10 * second))
    expect(await store.on(storedDeployments).take(10, minute)).toEqual([])
    await store.reclaim()
    const again = await store.on(storedDeployments).take(10, minute)
    expect(again).toHaveLength(name === 'SQLite' ? 1 : 0)
    // A deferred deployment is no longer leased.
    for (const { id } of again) await store.on(storedDeployments).defer(id, minute, true)
    await store.reclaim()
    expect(await store.on(storedDeployments).take(10, minute)).toEqual([])
  })

  it('counts all due deployments in one transaction or none, the earliest due first', async () => {
    for (const id of [3, 1, 2]) {
      await take(deploymentEvent(id, 'success', t0 + id * second))
      here.move(second)
    }
    here.move(2 * minute)
    const seen: (number | undefined)[] = []
    const passOver: DecideDeployment = ({ of: { deploymentId } }) => {
      seen.push(deploymentId)
      return deploymentId === 1 ? 'apart' : nothing
    }
    const failing: DecideDeployment = due => {
      if (due.of.deploymentId === 2) throw new RangeError('it cannot be counted')
      return passOver(due, { isKnownRevision: false, isLate: false })
    }
    await expect(store.on(storedDeployments).countDue(10, failing)).rejects.toThrow('it cannot be counted')
    seen.splice(0)
    expect(await store.on(storedDeployments).countDue(2, passOver)).toEqual([nothing, 'apart'])
    expect(await store.on(storedDeployments).countDue(10, passOver)).toEqual([nothing])
    expect(await store.on(storedDeployments).countDue(10, passOver)).toEqual([])
    expect(seen).toEqual([3, 1, 2])
    const apart = await store.on(storedDeployments).take(10, minute)
    expect(apart.map(({ deployment: { deploymentId } }) => deploymentId)).toEqual([1])
    expect(await store.on(storedDeployments).count(apart[0]!.id, () => nothing)).toBe(nothing)
    expect(await store.on(storedDeployments).count(apart[0]!.id, () => nothing)).toBeUndefined()
  })

  it.each([
    '{"event":',
    'null',
    '{}',
    `{"instance":"${instance}","project":null}`,
    `{"instance":"${instance}","project":{"id":3},"event":{"fakts":{}}}`,
  ])("exports a deployment's events and pipeline even if its row is damaged (%s)", async content => {
    await take(deploymentEvent(1, 'running', t0))
    await here.sql(`UPDATE deployments SET content = '${content}'`)
    await take(deploymentEvent(1, 'success', t0 + 50 * second))
    await endPipeline(10)
    expect(await due()).toHaveLength(2)
    expect(await pipelines()).toHaveLength(1)
  })
})

const project = { id: 3, name: 'shop', path: 'acme/shop' }

it('makes a report of a deployment wait while another replica counts the deployment, and does not make the deployment due again', async () => {
  const url = await newDatabase()
  let now = t0
  const store = await openPostgres(url, { now: () => now, maxSize: 2 ** 30 })
  const pool = new pg.Pool({ connectionString: url })
  /** Reports a deployment as its pipeline's snapshot does. */
  const report = async (pipelineId: number, at: number): Promise<void> => {
    const facts = observedEvent({ status: 'success', at, environment: 'staging' })
    const deployment = { instance, project, deploymentId: 1, event: facts }
    const more = { reports: reportsBy(deploymentReporter, [{ report: deployment, countIn: minute }]) }
    const work = mergeObservations([pipelineEvent('running', {}, [], {}, pipelineId)], 'webhook', rules)
    return store.runs.transact(
      work.map(({ decide, ...one }) => ({
        ...one,
        decide: (known, at) => {
          const change = decide(known, at)
          return change && { ...change, ...more }
        },
      })),
    )
  }
  const other = await pool.connect()
  try {
    await report(1, t0)
    now += minute
    await other.query('BEGIN')
    await other.query('UPDATE deployments SET due_at = NULL, counted_at = $1', [now])
    const reported = report(2, t0 + 1_000)
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    await expect.poll(async () => (await pool.query(waiting)).rows.length).toBeGreaterThan(0)
    await other.query('COMMIT')
    await reported
    now += minute
    expect(await store.on(storedDeployments).countDue(10, () => nothing)).toEqual([])
    expect(await store.on(storedDeployments).list({ since: 0, until: now, limit: 10 })).toMatchObject([
      { at: t0 + 1_000 },
    ])
  } finally {
    other.release()
    await pool.end()
    await store.close()
  }
})
