// Fills a store with runs generated from a seed. Their projects, branches, durations and failures are like those of a company.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { countedIn } from '../../support/counted-figures.ts'
import { mergeIntoRun } from '../../../src/core/take-in/merge-observations.ts'
import { snapshotAttempt } from '../../../src/model/snapshot.ts'
import { observedRun } from '../../../src/model/run.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import type { ObservedJob, Observation, Runner } from '../../../src/model/observation.ts'
import type { ExportQueue } from '../../../src/core/store/ports/outbox.ts'
import type { RunWork } from '../../../src/core/store/ports/runs.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

export interface ManyRunsOptions {
  readonly store: Store
  readonly runs: number
  /** When the last run was created, ms. */
  readonly until: number
  /** The time between consecutive runs, ms. By default, the runs are spread over 30 days. */
  readonly every?: number | undefined
  readonly seed?: number | undefined
  /** The export queues of each run. The exports of every hundredth run are permanently rejected. */
  readonly exportQueues?: readonly ExportQueue[] | undefined
}

const teams = ['shop', 'mobile', 'platform', 'data', 'payments'] as const
const services = ['api', 'web', 'worker', 'gateway'] as const
const refs = ['main', 'main', 'main', 'feature/search', 'feature/gift-cards', 'fix/rounding', 'release/24.6'] as const
const sources = ['push', 'push', 'merge_request_event', 'schedule', 'web'] as const
const people = ['amina', 'jlindqvist', 'mei.tanaka', 'rduarte', 'sofie'] as const
const titles = [
  'Round prices once, at the end',
  'Cache the category tree',
  'Upgrade the payment client',
  'Fix flaky test',
]
const rules = { settle: 5_000, blockedAfter: 3_600_000, staleAfter: 7 * 24 * 3_600_000 }
const exportQueue: ExportQueue = { destination: 'default', signal: 'traces' }
const instance = 'https://git.example.com'

/** Number of runs per transaction. */
const runsAtOnce = 100

export async function manyRuns(options: ManyRunsOptions): Promise<void> {
  const { store, runs, until, exportQueues = [exportQueue] } = options
  const random = new Random(options.seed ?? 1)
  const every = options.every ?? (30 * 24 * 3_600_000) / runs
  for (let first = 0; first < runs; first += runsAtOnce) {
    const work: RunWork[] = []
    for (let count = first; count < Math.min(runs, first + runsAtOnce); count += 1) {
      work.push(written(observed(random, count, Math.round(until - (runs - 1 - count) * every)), exportQueues))
    }
    await store.runs.transact(work)
    // Yields to the event loop, so that a server in the same process can read its connections. Otherwise, it would respond with 408 after ten seconds.
    await nextTurn()
  }
}

function observed(random: Random, count: number, createdAt: number): Observation {
  const team = random.pick(teams)
  const service = random.pick(services)
  const projectId = 100 + teams.indexOf(team) * 10 + services.indexOf(service)
  const path = `acme/${team}/${service}`
  const pipelineId = 1_000 + count
  const jobs: ObservedJob[] = []
  let at = createdAt
  let failed = false
  for (const [stage, names] of Object.entries(plan)) {
    let end = at
    for (const name of names) {
      const skipped: boolean = failed
      const queued = random.between(1, 20)
      const took = Math.max(2, random.between(0.6, 1.6) * (30 + 15 * name.length))
      const startedAt = at + queued * 1_000
      const finishedAt = startedAt + took * 1_000
      const fails: boolean = !skipped && random.chance(name === 'e2e' ? 0.12 : 0.02)
      const own = { kind: 'job' as const, name, stage }
      const add = (status: string, from: number, to: number): void => {
        const id = pipelineId * 100 + jobs.length
        const runner = runnerOf(pipelineId * 7 + jobs.length)
        const facts = { ...own, status, duration: (to - from) / 1000, queuedDuration: queued, runner }
        jobs.push({ id, facts, times: { createdAt, startedAt: Math.round(from), finishedAt: Math.round(to) } })
      }
      if (skipped)
        jobs.push({ id: pipelineId * 100 + jobs.length, facts: { ...own, status: 'skipped' }, times: { createdAt } })
      else add(fails ? 'failed' : 'success', startedAt, finishedAt)
      if (fails && random.chance(0.6)) add('success', finishedAt + 5_000, finishedAt + took * 1_000)
      else failed ||= fails
      if (!skipped) end = Math.max(end, finishedAt + (fails ? took * 1_000 : 0))
    }
    at = end
  }
  const status = failed ? 'failed' : 'success'
  return {
    key: { instance, pipelineId },
    origin: 'webhook',
    project: { id: projectId, name: service, path, webUrl: `${instance}/${path}` },
    pipeline: {
      facts: {
        status,
        iid: count,
        ref: random.pick(refs),
        sha: random.uuid().replaceAll('-', ''),
        source: random.pick(sources),
        stages: Object.keys(plan),
        queuedDuration: 4,
        user: { id: 1, username: random.pick(people) },
        commit: { message: random.pick(titles as [string, ...string[]]) },
      },
      times: { createdAt, finishedAt: Math.round(at) },
    },
    jobs,
  }
}

/** Returns one of 40 runners. */
function runnerOf(seed: number): Runner {
  const id = 1 + (seed % 40)
  return { id, description: `runner ${id}`, type: id % 4 === 0 ? 'project_type' : 'instance_type' }
}

const plan: Readonly<Record<string, readonly string[]>> = {
  build: ['compile', 'image'],
  test: ['unit', 'lint', 'e2e'],
  deploy: ['staging', 'production'],
}

/** Merges an observation into a run and takes its snapshot immediately. */
function written(observation: Observation, to: readonly ExportQueue[]): RunWork {
  const seen = observedRun(observation)
  return {
    key: observation.key,
    jobs: 'all',
    source: 'webhook',
    decide: (known, now) => {
      const { run } = mergeIntoRun(known, seen, now, rules) ?? { run: seen }
      const { pipelineId } = observation.key
      const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: pipelineId }
      const snapshot = snapshotAttempt(run, [...run.jobs.values()], trace, false, now, { chunkSize: 500 })
      const entries = snapshot.chunks.map(chunk => ({ chunk, to }))
      const reports = countedIn(snapshot.run, snapshot.chunks)
      return { run: snapshot.run, timing: { changedAt: now }, pending: entries, reports }
    },
  }
}
