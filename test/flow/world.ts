// The environment for tests of the export: a store on real SQLite, a clock that tests set, and the code that turns observations into exports.
import { counting } from '../support/counted-figures.ts'
import { mergeObservations } from '../../src/core/take-in/merge-observations.ts'
import { createSelection } from '../../src/core/take-in/selection.ts'
import { createSnapshotter, type Snapshotter, type SnapshotterOptions } from '../../src/core/settle/take-snapshots.ts'
import { createSettleLoop, type SettleLoop, type SettleLoopOptions } from '../../src/core/settle/settle-loop.ts'
import { createTakeIn, type TakeIn, type TakeInOptions } from '../../src/core/take-in/take-in.ts'
import { parseDelivery } from '../../src/platform/webhook/parse-delivery.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { openSqlite } from '../support/stores.ts'
import { silentLog } from '../../src/lib/log.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { deliver, chunkOfRun } from '../support/of-run.ts'
import type { FamilyOptions } from '../../src/model/family.ts'
import type { Chunk } from '../../src/model/chunk.ts'
import type { Store } from '../../src/core/store/ports/store.ts'
import type {
  ObservedJob,
  JobFacts,
  JobTimes,
  Observation,
  PipelineFacts,
  PipelineTimes,
} from '../../src/model/observation.ts'

export const instance = 'https://git.example.com'
export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/** The time at which the tests begin: 12:00:00 UTC on 2026-06-01. */
export const t0 = Date.UTC(2026, 5, 1, 12, 0, 0)

/** A selection that excludes no project, ref or source. */
export const everything = createSelection({ projects: {}, refs: {}, sources: {} })

export const rules = {
  settle: 5 * second,
  deadline: 2 * minute,
  blockedAfter: hour,
  staleAfter: 7 * day,
  chunkSize: 500,
}

/** Creates a snapshotter. By default it uses the delays in `rules`, and exports traces to the default destination. */
export function snapshotterWith(options: Partial<SnapshotterOptions> = {}): Snapshotter {
  return createSnapshotter({
    ...{
      rules,
      selection: everything,
      to: [{ destination: 'default', signal: 'traces' }],
      steps: [counting],
      onSnapshot: () => undefined,
    },
    family: { scheme: 'instance', profile: 'generic', bridgesWillCome: false },
    ...options,
  })
}

/** Creates an intake. By default it uses the delays in `rules`, and leaves the snapshots to the settle loop. */
export function takeInOf(store: TakeInOptions['store'], options: Partial<TakeInOptions> = {}): TakeIn {
  return createTakeIn({
    ...{ store, rules, selection: everything, snapshotter: snapshotterWith({ to: [] }) },
    parse: delivery => parseDelivery(delivery, { profile: profiles.generic, traceparent: false }),
    redact: body => body,
    ...{ version: '1.0.0', onChange: () => undefined, now: () => systemClock.now(), log: silentLog() },
    ...options,
  })
}

/** Creates a settler, which takes the snapshots of the runs that are due. */
export function settlerOf(
  { runs, runsPerTransaction: perTransaction }: Pick<Store, 'runs' | 'runsPerTransaction'>,
  options: Partial<SettleLoopOptions> = {},
): SettleLoop {
  const usual = { snapshotter: snapshotterWith(), clock: systemClock, log: silentLog() }
  return createSettleLoop({ runs, perTransaction, ...usual, ...options })
}

export interface World {
  /** Passes observations to the intake. The clock does not advance. */
  observe(...observations: Observation[]): Promise<void>
  /** Advances the clock by `ms`, second by second as long as something is due, so that all due work is done. */
  pass(ms: number): Promise<void>
  /** Returns the chunks of all snapshots taken since the last call. */
  sent(): Promise<Chunk[]>
  readonly store: ReturnType<typeof openSqlite>
}

export function openWorld(family: Partial<FamilyOptions> = {}): World {
  let now = t0
  const store = openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 })
  const settler = settlerOf(store, {
    snapshotter: snapshotterWith({
      family: { scheme: 'instance', profile: 'generic', bridgesWillCome: false, ...family },
    }),
    clock: { now: () => now, sleep: async () => undefined },
  })
  return {
    store,
    observe: async (...observations) => {
      for (const one of observations) await store.runs.transact(mergeObservations([one], 'webhook', rules))
    },
    pass: async ms => {
      const end = now + ms
      for (;;) {
        const wait = (await store.runs.dueIn()) ?? Infinity
        if (now + wait > end) break
        now += wait
        await settler.drain()
      }
      now = end
    },
    sent: async () => {
      const items = await deliver(store)
      return items.map(chunkOfRun).sort((a, b) => a.attempt - b.attempt || a.number - b.number)
    },
  }
}

/** Returns a pipeline event about pipeline 7. */
export function event(
  status: string,
  times: PipelineTimes,
  jobs: ObservedJob[],
  facts: Partial<PipelineFacts> = {},
  pipelineId = 7,
): Observation {
  return {
    key: { instance, pipelineId },
    origin: 'webhook',
    project: { id: 3, name: 'shop', path: 'acme/shop', webUrl: 'https://git.example.com/acme/shop' },
    pipeline: {
      facts: { status, ref: 'main', sha: 'abc', source: 'push', ...facts },
      times: { createdAt: t0, ...times },
    },
    jobs,
  }
}

/** Returns the observation of the same pipeline as REST reports it. */
export function rest(observation: Observation): Observation {
  return { ...observation, origin: 'rest' }
}

/** Returns a job event about pipeline 7. */
export function jobEvent(...jobs: ObservedJob[]): Observation {
  return { key: { instance, pipelineId: 7 }, origin: 'webhook', project: { id: 3 }, jobs }
}

/** Returns a job. Its times are given in seconds after `t0`. */
export function job(
  id: number,
  name: string,
  status: string,
  times: { created?: number; started?: number; finished?: number | undefined } = {},
  facts: Partial<JobFacts> = {},
): ObservedJob {
  const at = (seconds: number | undefined) => (seconds === undefined ? undefined : t0 + seconds * second)
  const observed: JobTimes = {
    createdAt: at(times.created ?? 0),
    startedAt: at(times.started),
    finishedAt: at(times.finished),
  }
  return { id, facts: { kind: 'job', name, stage: name, status, ...facts }, times: observed }
}

/** Returns the time that is this many seconds after `t0`. */
export function at(seconds: number): number {
  return t0 + seconds * second
}

/** Returns the chunks in a short text form for use in assertions. */
export function reported(chunks: readonly Chunk[]): string[] {
  return chunks.map(({ attempt, kind, pipeline, jobs }) => {
    const spans = jobs.map(one => `${one.id}:${one.status}${one.salt === undefined ? '' : `~${one.salt}`}`)
    const head = kind === 'attempt' ? `attempt ${attempt} ${pipeline.facts.status}` : `supplement to ${attempt}`
    return `${head}${pipeline.incomplete ? ' incomplete' : ''} [${spans.join(' ')}]`
  })
}
