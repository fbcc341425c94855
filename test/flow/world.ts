// A store on real SQLite under a clock that the test moves, with the rooms that stand between an observation and an export.
import { mergeObservations } from '../../src/processing/merge-observations.ts'
import { createSelection } from '../../src/processing/selection.ts'
import { createSnapshotter } from '../../src/processing/take-snapshots.ts'
import { createSettleLoop } from '../../src/processing/settle-loop.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { silentLog } from '../../src/lib/log.ts'
import { chunkOfRun } from '../support/of-run.ts'
import type { FamilyOptions } from '../../src/model/family.ts'
import type { Chunk } from '../../src/model/chunk.ts'
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

/** When the stories begin: a round instant. */
export const t0 = Date.UTC(2026, 5, 1, 12, 0, 0)

/** No project, ref or source is left out. */
export const everything = createSelection({ projects: {}, refs: {}, sources: {} })

export const rules = {
  settle: 5 * second,
  deadline: 2 * minute,
  blockedAfter: hour,
  staleAfter: 7 * day,
  chunkSize: 500,
}

export interface World {
  /** Feeds observations to the intake; no time passes. */
  observe(...observations: Observation[]): Promise<void>
  /** Lets time pass and whatever is due happen, second by second where something is due. */
  pass(ms: number): Promise<void>
  /** The chunks of all snapshots since the last call. */
  sent(): Promise<Chunk[]>
  readonly store: ReturnType<typeof openSqlite>
}

export function openWorld(family: Partial<FamilyOptions> = {}): World {
  let now = t0
  const store = openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 })
  const settler = createSettleLoop({
    runs: store.runs,
    perTransaction: store.runsPerTransaction,
    snapshotter: createSnapshotter({
      rules,
      family: { scheme: 'instance', profile: 'generic', bridgesWillCome: false, ...family },
      selection: everything,
      to: [{ destination: 'default', signal: 'traces' }],
      onSnapshot: () => undefined,
    }),
    clock: { now: () => now, sleep: async () => undefined },
    log: silentLog(),
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
      const { token, items } = await store.outbox.lease({ destination: 'default', signal: 'traces' }, 10_000, minute)
      await store.outbox.settle(
        token,
        items.map(({ id }) => ({ id, as: 'delivered' as const })),
      )
      return items.map(chunkOfRun).sort((a, b) => a.attempt - b.attempt || a.number - b.number)
    },
  }
}

/** A pipeline event of pipeline 7. */
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

/** The same pipeline as REST reports it. */
export function rest(observation: Observation): Observation {
  return { ...observation, origin: 'rest' }
}

/** A job event of pipeline 7. */
export function jobEvent(...jobs: ObservedJob[]): Observation {
  return { key: { instance, pipelineId: 7 }, origin: 'webhook', project: { id: 3 }, jobs }
}

/** A job; times in seconds after `t0`. */
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

/** `t0` plus seconds. */
export function at(seconds: number): number {
  return t0 + seconds * second
}

/** The chunks, short enough to read in an assertion. */
export function reported(chunks: readonly Chunk[]): string[] {
  return chunks.map(({ attempt, kind, pipeline, jobs }) => {
    const spans = jobs.map(one => `${one.id}:${one.status}${one.salt === undefined ? '' : `~${one.salt}`}`)
    const head = kind === 'attempt' ? `attempt ${attempt} ${pipeline.facts.status}` : `supplement to ${attempt}`
    return `${head}${pipeline.incomplete ? ' incomplete' : ''} [${spans.join(' ')}]`
  })
}
