// Tests the queue of job logs and reports that are still to be read, on both databases.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { applyAnswer } from '../../../src/core/complete/apply-answers.ts'
import { applyReading, type InsideOutlets } from '../../../src/features/job-insides/job-reading.ts'
import { jobReadStep } from '../../../src/features/job-insides/job-reads.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { snapshotSupplements } from '../../../src/model/snapshot.ts'
import { at, event, instance, job, jobEvent, rest, rules } from '../../flow/world.ts'
import { chunkOfRun } from '../../support/of-run.ts'
import { snapshotWork } from '../../core/store/exported-run.ts'
import type { ExportQueue } from '../../../src/core/store/ports/outbox.ts'
import type { JobInside, Section } from '../../../src/model/inside.ts'
import { jobReadReporter, jobReads, type JobRead, type JobReads } from '../../../src/features/job-insides/queue.ts'
import { bothDatabases, type Bench } from '../../core/store/benches.ts'
import { openPolledWorld } from '../../core/find/polled-world.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { reportsBy } from '../../../src/core/store/ports/reporter.ts'
import type { RunWork } from '../../../src/core/store/ports/runs.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const traces: ExportQueue = { destination: 'default', signal: 'traces' }
const key = { instance, pipelineId: 7 }

/** Takes the snapshot of the run's next attempt, and queues the log of each of its jobs. */
function taking(): RunWork {
  const work = snapshotWork(7, chunk => ({ chunk, to: [traces] }))
  return {
    ...work,
    decide: (known, now) => {
      const change = work.decide(known, now)
      const reads = change?.pending?.flatMap(({ chunk: { attempt, number, jobs } }) =>
        jobs.map(({ id: jobId }) => ({ key, attempt, number, jobId, what: 'log' as const })),
      )
      return change && { ...change, reports: reportsBy(jobReadReporter, reads ?? []) }
    },
  }
}

/** Takes a snapshot that contains only this job, which ended after the snapshot of its attempt (a supplement). */
function supplementing(jobId: number): RunWork {
  return {
    ...{ key, jobs: 'all' },
    decide: (known, now) => {
      const late = [...(known?.run.jobs.values() ?? [])].filter(({ id }) => id === jobId)
      if (known === undefined) return undefined
      const { run, chunks } = snapshotSupplements(known.run, late, rules)
      return { run, timing: { changedAt: now }, pending: chunks.map(chunk => ({ chunk, to: [traces] })) }
    },
  }
}

describe.each(bothDatabases())('the queue of job reads on %s', (name, bench) => {
  let here: Bench
  let store: Store
  let queue: JobReads

  beforeEach(async () => {
    here = closeAfterTest(await bench())
    store = await here.open()
    queue = store.on(jobReads)
    const jobs = [1, 2].map(id => job(id, `build ${id}`, 'failed', { started: 5, finished: 50 }))
    await store.runs.transact(mergeObservations([event('failed', { finishedAt: at(60) }, jobs)], 'webhook', rules))
    await store.runs.transact([taking()])
  })

  const take = async (limit = 10): Promise<readonly JobRead[]> => queue.take(limit, minute)
  const insideOf = (read: JobRead): JobInside => {
    const section: Section = { ordinal: 1, name: 'x', kind: 'custom', clock: 'line', start: at(6), end: at(7) }
    return { job: { id: read.jobId, kind: 'job', start: at(5), end: at(50) }, sections: [section] }
  }
  const apply = async (read: JobRead, count = 1): Promise<unknown> => {
    const insides = Array<JobInside>(count).fill(insideOf(read))
    return store.runs.transact([applyReading(read, insides, { to: [traces], measure: undefined })])
  }
  const numbers = async (): Promise<(readonly [number, string])[]> => {
    const { items } = await store.outbox.lease(traces, 100, 0)
    return items
      .map(chunkOfRun)
      .map(chunk => [chunk.number, chunk.kind] as const)
      .sort(([a], [b]) => a - b)
  }

  it("leases each job read, with the job's chunk, to one worker, and to another if the first does not finish it", async () => {
    const [first] = await take(1)
    expect(first).toMatchObject({ jobId: 1, what: 'log', tries: 0, chunk: { key, attempt: 1, number: 1 } })
    expect(await take()).toMatchObject([{ jobId: 2 }])
    expect(await take()).toEqual([])
    here.move(minute)
    expect((await take()).map(({ jobId }) => jobId)).toEqual([1, 2])
  })

  it('releases the job reads leased by a crashed process at start, if only one process may serve the store', async () => {
    expect(await take()).toHaveLength(2)
    await store.reclaim()
    expect(await take()).toHaveLength(name === 'SQLite' ? 2 : 0)
  })

  it('writes the result of a job read to the outbox and removes its queue entry in one transaction, even if two workers read it', async () => {
    const [read] = await take(1)
    if (read === undefined) throw new Error('nothing to read')
    await apply(read, 2)
    await apply(read, 2)
    expect(await store.views.sections(key, 10)).toMatchObject([{ job: { id: 1 }, sections: [{ name: 'x' }] }, {}])
    expect(await store.views.sections(key, 1, 1)).toHaveLength(1)
    expect(await store.views.sections(key, 10, 2)).toEqual([])
    expect(await numbers()).toEqual([
      [1, 'attempt'],
      [2, 'job'],
      [3, 'job'],
    ])
    here.move(minute)
    expect((await take()).map(({ jobId }) => jobId)).toEqual([2])
    expect(await store.views.chunks(key)).toHaveLength(1)
    expect((await store.runs.get(key))?.run.jobs.size).toBe(2)
  })

  it("lets features report on every job read, and passes them whether a destination accepts the job's chunk", async () => {
    const [first, second] = await take()
    const told: boolean[] = []
    const reports: InsideOutlets['reports'] = (_, { isSent }) => {
      told.push(isSent)
      return []
    }
    for (const [read, to] of [
      [first!, [traces]],
      [second!, [{ destination: 'default', signal: 'logs' }]],
    ] as const)
      await store.runs.transact([applyReading(read, [insideOf(read)], { to, measure: undefined, reports })])
    expect(told).toEqual([true, false])
    expect((await numbers()).filter(([, kind]) => kind === 'job')).toHaveLength(1)
  })

  it('counts the sections of a job as sent if a destination takes only the totals of its project', async () => {
    const [read] = await take()
    const told: boolean[] = []
    const reports: InsideOutlets['reports'] = (_, { isSent }) => {
      told.push(isSent)
      return []
    }
    const outlets = { to: [], takesTotals: () => true, measure: undefined, reports }
    await store.runs.transact([applyReading(read!, [insideOf(read!)], outlets)])
    expect(told).toEqual([true])
  })

  it("returns a job's tests from its newest chunks", async () => {
    const [read] = await take(1)
    if (read === undefined) throw new Error('nothing to read')
    await apply(read)
    expect(await store.views.tests(key, 10, 1)).toEqual([])
    const [other] = await take(1)
    if (other === undefined) throw new Error('nothing to read')
    const owner = { id: other.jobId, kind: 'job', start: at(5), end: at(50) } as const
    const insides = ['a', 'b', 'c'].map((name): JobInside => ({
      job: owner,
      tests: { failures: [{ suite: '"tests":{', name, result: 'fail' }] },
    }))
    const logs: ExportQueue = { destination: 'default', signal: 'logs' }
    await store.runs.transact([applyReading(other, insides, { to: [logs], measure: undefined })])
    const names = async (limit: number, jobId: number): Promise<unknown> =>
      (await store.views.tests(key, limit, jobId)).map(({ tests }) => tests?.failures?.[0]?.name)
    expect(await names(2, other.jobId)).toEqual(['b', 'c'])
    expect(await names(2, read.jobId)).toEqual([])
  })

  it('numbers a later supplement after the chunks of earlier job reads', async () => {
    for (const read of await take()) await apply(read)
    const late = event('failed', { finishedAt: at(60) }, [job(3, 'late', 'success', { started: 6, finished: 40 })])
    await store.runs.transact(mergeObservations([late], 'webhook', rules))
    await store.runs.transact([supplementing(3)])
    expect(await numbers()).toEqual([
      [1, 'attempt'],
      [2, 'job'],
      [3, 'job'],
      [4, 'supplement'],
    ])
  })

  it('defers job reads as requested, counts attempts, and removes dropped entries', async () => {
    const [one, two] = (await take()).toSorted((a, b) => a.jobId - b.jobId)
    if (one === undefined || two === undefined) throw new Error('nothing to read')
    await queue.defer(one, 5_000, true)
    await queue.drop(two)
    expect(await queue.count()).toEqual({ due: 0, later: 1, oldest: one.pendingSince })
    here.move(5_000)
    expect(await take()).toMatchObject([{ jobId: 1, tries: 1 }])
    await queue.extend([one], 0)
    expect(await take()).toMatchObject([{ jobId: 1 }])
  })

  describe('reports that become known after the snapshot', () => {
    const late = {
      ...rules,
      steps: [
        jobReadStep({ sections: [], lines: [], tests: true, reports: ['coverage'], spans: false, project: () => true }),
      ],
    }
    /** Applies a platform response that lists these artifacts of a job. */
    const answered = async (artifactSizes: Record<string, number>, finished = 50, id = 1): Promise<unknown> => {
      const one = job(id, `build ${id}`, 'failed', { started: finished - 45, finished }, { artifactSizes })
      return store.runs.transact([
        applyAnswer(
          key,
          { observation: rest(event('failed', { finishedAt: at(60) }, [one])), family: { known: true } },
          ...(['fresh', late] as const),
        ),
      ])
    }
    const left = async (): Promise<unknown> => {
      here.move(2 * minute)
      return (await take()).map(({ jobId, what, chunk }) => [jobId, what, chunk.attempt, chunk.number])
    }
    beforeEach(async () => {
      for (const read of await take()) await apply(read)
    })

    it("reads each report that is listed after the snapshot once, with the job's chunk", async () => {
      await answered({ junit: 900, cobertura: 80 })
      const both = [
        [1, 'tests', 1, 1],
        [1, 'cobertura', 1, 1],
      ]
      expect(await left()).toEqual(both)
      await answered({ junit: 900, cobertura: 80 })
      expect(await left()).toEqual(both)
      here.move(2 * minute)
      for (const read of await take()) await apply(read)
      await answered({ junit: 900, cobertura: 80 })
      expect(await left()).toEqual([])
    })

    it("reads a late report with the chunk of the job's supplement, but no late report of a job that has run again", async () => {
      const more = [job(3, 'build 3', 'failed', { started: 5, finished: 50 })]
      await store.runs.transact(mergeObservations([event('failed', { finishedAt: at(60) }, more)], 'webhook', late))
      await store.runs.transact([supplementing(3)])
      await answered({ junit: 900 }, 50, 3)
      expect(await left()).toEqual([[3, 'tests', 1, 4]])
      await answered({ junit: 900 }, 200)
      expect(await left()).toEqual([[3, 'tests', 1, 4]])
    })

    it('requests the details of a late job that only a webhook reported', async () => {
      const asks = async (id: number): Promise<unknown> => {
        const observed = jobEvent(job(id, `late ${id}`, 'success', { started: 6, finished: 40 }))
        await store.runs.transact(mergeObservations([observed], 'webhook', { ...late, enrichDeadline: minute }))
        return store.enrichment.take('fresh', 9, minute)
      }
      expect(await asks(9)).toMatchObject([{ key, detail: 'details' }])
      await answered({}, 40, 9)
      expect(await asks(9)).toEqual([])
    })

    it("does not read a late report if its job's chunk was deleted", async () => {
      const { token, items } = await store.outbox.lease(traces, 100, minute)
      const done = items.map(({ id }) => ({ id, as: 'delivered' as const }))
      await store.outbox.settle(token, done)
      here.move(40 * 86_400_000)
      await store.runs.transact([
        { key, jobs: [], decide: known => known && { ...known, jobs: [], timing: { changedAt: 0 } } },
      ])
      expect(await store.pruning.runs(here.now() - 86_400_000, 100, undefined)).toMatchObject({ pruned: 1 })
      await answered({ junit: 900 })
      expect(await left()).toEqual([])
    })
  })
})

it('reads the reports of an already exported job once the platform lists them', async () => {
  const rules = { sections: [], lines: [], tests: true, reports: [], spans: false, project: () => true } as const
  await using world = await openPolledWorld({
    hook: ({ kind }) => kind === 'pipeline',
    steps: [jobReadStep(rules)],
  })
  const queue = world.store.on(jobReads)
  world.api.misbehave = () => restFaults.broken()
  const pipeline = world.lifecycle.create(scenarios.flakyRunner(new Random(3)))
  while (pipeline.finishedAt === undefined) await world.pass(second, second)
  await world.pass(160 * second)
  expect((await world.sent()).map(({ kind }) => kind)).toEqual(['attempt'])
  expect(await queue.take(9, minute)).toEqual([])
  world.api.misbehave = () => undefined
  await world.pass(2 * hour)
  const { id } = pipeline.jobs.find(({ plan }) => plan.tests !== undefined) ?? {}
  expect(await queue.take(9, minute)).toMatchObject([{ jobId: id, what: 'tests', chunk: { kind: 'attempt' } }])
})
