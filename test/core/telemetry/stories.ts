// Realistic pipelines as observations; the model itself takes their snapshots. The golden files are generated from them.
import { traceContextOf, type Ancestor, type FamilyOptions } from '../../../src/model/family.ts'
import { observedRun, mergeRun, type Run } from '../../../src/model/run.ts'
import { plan } from '../../../src/model/settle.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type {
  ObservedJob,
  JobFacts,
  Observation,
  PipelineFacts,
  PipelineTimes,
} from '../../../src/model/observation.ts'

export const instance = 'https://git.example.com'

/** Returns the time this many minutes and seconds after the start of all stories, ms. */
export function at(minutes: number, seconds = 0): number {
  return Date.UTC(2026, 2, 2, 9, 0, 0) + (minutes * 60 + seconds) * 1000
}

interface Reported {
  readonly id: number
  readonly origin?: Observation['origin']
  readonly facts: PipelineFacts
  readonly times?: PipelineTimes
  readonly jobs?: readonly ObservedJob[]
}

const project = {
  id: 42,
  name: 'Checkout',
  path: 'shop/backend/checkout',
  webUrl: 'https://git.example.com/shop/backend/checkout',
  defaultBranch: 'main',
}

function reported({ id, origin = 'webhook', facts, times = {}, jobs = [] }: Reported): Observation {
  return { key: { instance, pipelineId: id }, origin: origin, project, pipeline: { facts, times }, jobs }
}

/** When a job was created, started and finished. */
type Times = readonly [createdAt?: number | undefined, startedAt?: number | undefined, finishedAt?: number | undefined]

function job(id: number, stage: string, name: string, times: Times, facts: Partial<JobFacts> = {}): ObservedJob {
  const [createdAt, startedAt, finishedAt] = times
  const all: JobFacts = { kind: 'job', status: 'success', manual: false, allowFailure: false, stage, name, ...facts }
  return { id, facts: all, times: { createdAt, startedAt, finishedAt } }
}

function failedFor(failureReason: string, facts: Partial<JobFacts> = {}): Partial<JobFacts> {
  return { status: 'failed', failureReason, ...facts }
}

const rules = { settle: 0, deadline: 0, blockedAfter: 0, staleAfter: 0, chunkSize: 100 }

interface Story {
  readonly run: Run
  readonly chunks: Chunk[]
}

/** Merges the observations of each round, lets the run settle, and returns the chunks of all snapshots. */
function chunksAfter(
  rounds: readonly (readonly Observation[])[],
  ancestors: readonly Ancestor[] = [],
  family: Partial<FamilyOptions> = {},
): Story {
  let run: Run | undefined
  const chunks: Chunk[] = []
  for (const round of rounds) {
    for (const seen of round.map(observedRun)) run = run === undefined ? seen : mergeRun(run, seen)
    if (run === undefined) continue
    const options = { scheme: 'instance' as const, profile: 'generic', bridgesWillCome: false, ...family }
    for (;;) {
      const clock = { now: at(100_000), changedAt: 0, endedAt: 0 }
      const next = plan(run, traceContextOf(run, ancestors, options), rules, clock)
      if (next.step !== 'snapshot') break
      chunks.push(...next.snapshot.chunks)
      run = next.snapshot.run
    }
  }
  if (run === undefined) throw new Error('a story needs an observation')
  return { run, chunks }
}

const ada = { id: 7, username: 'ada' }
const runner = {
  id: 380987,
  description: 'shared-runner-eu-3',
  tags: ['linux', 'docker'],
  type: 'instance_type',
  active: true,
  isShared: true,
}
const sha = 'f0c1d2e3a4b5968778695a4b3c2d1e0ff0e1d2c3'

const main: PipelineFacts = {
  status: 'success',
  iid: 311,
  name: 'Build and deploy',
  ref: 'main',
  sha,
  beforeSha: '0a1b2c3d4e5f60718293a4b5c6d7e8f901234567',
  tag: false,
  source: 'push',
  detailedStatus: 'passed',
  stages: ['build', 'test', 'deploy'],
  duration: 247,
  queuedDuration: 3,
  protectedRef: true,
  user: ada,
  commit: { id: sha, message: 'Round totals to cents\n\nFixes the invoice of ticket 88.\n' },
}

/** A pipeline with five jobs in three stages, two of which run in parallel, with whole and fractional coverage, and a deployment. */
function success(): Chunk[] {
  const ran = (duration: number, queuedDuration: number, facts: Partial<JobFacts> = {}): Partial<JobFacts> => ({
    ...{ duration, queuedDuration, when: 'on_success', user: ada, runner },
    ...facts,
  })
  const artifacts = { filename: 'artifacts.zip', size: 48_211 }
  const deployer = { id: 17, description: 'deployer', tags: [], type: 'project_type', active: false, isShared: false }
  const environment = { name: 'production', action: 'start', deploymentTier: 'production' }
  const created = at(0, 1)
  const jobs = [
    job(105, 'deploy', 'live', [created, at(3, 8), at(4, 9)], ran(61.2, 1.5, { runner: deployer, environment })),
    job(101, 'build', 'compile', [created, at(0, 3), at(1, 1)], {
      ...ran(58.35, 2, { artifacts }),
      artifactSizes: { archive: 48_211, metadata: 164, trace: 9_377 },
    }),
    job(103, 'test', 'unit', [created, at(1, 2) + 250, at(2, 35) + 250], ran(93, 1, { coverage: 88 })),
    job(104, 'test', 'integration', [created, at(1, 2), at(3, 5)], ran(123, 1, { coverage: 71.5 })),
    job(102, 'build', 'lint', [created, at(0, 3), at(0, 15)], ran(12, 2.5)),
  ]
  const url = 'https://git.example.com/shop/backend/checkout/-/pipelines/9001'
  const facts = { ...main, url, coverage: 79.75, committedAt: at(-2) }
  return chunksAfter([[reported({ id: 9001, facts, times: { createdAt: at(0), finishedAt: at(4, 10) }, jobs })]]).chunks
}

const firstFailure: Reported = {
  id: 9002,
  origin: 'rest',
  facts: { ...main, iid: 312, name: undefined, status: 'failed', detailedStatus: 'failed' },
  times: { createdAt: at(10), finishedAt: at(13), updatedAt: at(13) },
  jobs: [
    job(
      ...([201, 'test', 'unit', [at(10), at(10, 5), at(10, 25)]] as const),
      failedFor('runner_system_failure', { duration: 20, runner }),
    ),
    job(
      ...([202, 'test', 'audit', [at(10), at(10, 5), at(10, 14)]] as const),
      failedFor('script_failure', { allowFailure: true, duration: 9 }),
    ),
    job(203, 'deploy', 'live', [at(10)], { status: 'skipped' }),
    job(
      ...([204, 'test', 'unit', [at(10, 26), at(10, 30), at(12, 30)]] as const),
      failedFor('job_execution_timeout', { duration: 120, runner }),
    ),
    job(205, 'test', 'browser', [at(10), undefined, at(13)], failedFor('stuck_or_timeout_failure')),
  ],
}

/** A pipeline that fails because of a timeout. One job fails twice, one job is allowed to fail, and one job waits for a runner that never comes. */
function failure(): Chunk[] {
  return chunksAfter([[reported(firstFailure)]]).chunks
}

/** The failed pipeline, retried an hour later: the failed jobs have new IDs, and the skipped job keeps its ID. */
function retry(): Chunk[] {
  const second = reported({
    id: 9002,
    facts: { ...main, iid: 312, name: undefined, status: 'success', duration: 320 },
    times: { createdAt: at(10), finishedAt: at(75) },
    jobs: [
      job(206, 'test', 'unit', [at(70), at(70, 2), at(71, 37)], { duration: 95 }),
      job(207, 'test', 'browser', [at(70), at(70, 3), at(70, 43)], { duration: 40 }),
      job(203, 'deploy', 'live', [at(10), at(73, 50), at(75)], { duration: 70 }),
    ],
  })
  return chunksAfter([[reported(firstFailure)], [second]]).chunks
}

/** A canceled pipeline: one job was running and one had not started. The jobs that waited for them never ran. */
function canceled(): Chunk[] {
  const facts = { ...main, iid: 313, status: 'canceled', detailedStatus: 'canceled', duration: undefined }
  const jobs = [
    job(301, 'build', 'compile', [at(20), at(20, 5), at(20, 35)], { status: 'canceled', duration: 30, runner }),
    job(302, 'build', 'docs', [at(20), undefined, at(20, 34)], { status: 'canceled' }),
    job(303, 'test', 'unit', [at(20)], { status: 'skipped' }),
    job(304, 'deploy', 'live', [at(20)], { status: 'manual', manual: true, when: 'manual' }),
  ]
  return chunksAfter([[reported({ id: 9003, facts, times: { createdAt: at(20), finishedAt: at(20, 36) }, jobs })]])
    .chunks
}

/** A parent pipeline, its bridge and its child pipeline, with the platform's own ids and the vendor's own names. */
function family(): Chunk[] {
  const platform = { scheme: 'platform', profile: 'gitlab' } as const
  const bridge = job(401, 'deploy', 'trigger-deployment', [at(30), at(30, 10), at(31, 50)], {
    ...{ kind: 'bridge', duration: 100, downstream: { pipelineId: 9005, projectId: 42 } },
  })
  const parent = chunksAfter(
    [[reported({ id: 9004, facts: main, times: { createdAt: at(30), finishedAt: at(32) }, jobs: [bridge] })]],
    [],
    platform,
  )
  const facts: PipelineFacts = {
    ...main,
    iid: 315,
    name: 'Deploy',
    source: 'parent_pipeline',
    stages: undefined,
    sourcePipeline: { pipelineId: 9004, projectId: 42, jobId: 401, bridgesAreListed: true },
  }
  const rollout = job(411, 'roll', 'rollout', [undefined, at(30, 40), at(31, 40)], { duration: 60 })
  const smoke = job(412, 'check', 'smoke', [undefined, at(31, 42), at(31, 47)], { duration: 5 })
  const child = chunksAfter(
    [[reported({ id: 9005, facts, times: { createdAt: at(30, 11), finishedAt: at(31, 48) }, jobs: [smoke, rollout] })]],
    [{ head: parent.run, trigger: parent.run.jobs.get(401) }],
    platform,
  )
  return [...parent.chunks, ...child.chunks]
}

/** A merge request pipeline for a new branch, about which little else is known. */
function mergeRequest(): Chunk[] {
  const facts: PipelineFacts = {
    status: 'success',
    ref: 'round-totals',
    sha,
    beforeSha: '0000000000000000000000000000000000000000',
    tag: false,
    source: 'merge_request_event',
    user: { id: 90, username: 'project_42_bot_5e1f' },
    committedAt: at(39),
    mergeRequest: {
      id: 8800,
      iid: 88,
      title: 'Draft: Round totals',
      state: 'opened',
      draft: true,
      sourceBranch: 'round-totals',
      targetBranch: 'main',
      url: 'https://git.example.com/shop/backend/checkout/-/merge_requests/88',
      fork: true,
    },
  }
  const unit = job(501, 'test', 'unit', [undefined, at(40, 2), at(40, 32)])
  return chunksAfter([
    [reported({ id: 9006, facts, times: { createdAt: at(40), finishedAt: at(40, 33) }, jobs: [unit] })],
  ]).chunks
}

/** A pipeline that is waiting for a manual job and is exported in this state. */
function blocked(): Chunk[] {
  const facts: PipelineFacts = { ...main, iid: 317, status: 'manual', detailedStatus: 'blocked', duration: undefined }
  const jobs = [
    job(601, 'build', 'compile', [at(50), at(50, 5), at(51, 5)], { duration: 60 }),
    job(602, 'deploy', 'live', [at(50)], { status: 'manual', manual: true, when: 'manual' }),
  ]
  return chunksAfter([[reported({ id: 9007, facts, times: { createdAt: at(50) }, jobs })]]).chunks
}

/** A webhook reports the latest jobs. Long after the export, REST reports the previous attempt and the bridge. */
function supplement(): Chunk[] {
  const facts: PipelineFacts = { ...main, iid: 318 }
  const times = { createdAt: at(60), finishedAt: at(63) }
  const unit = job(702, 'test', 'unit', [undefined, at(62), at(62, 30)], { duration: 30 })
  const late = [
    job(701, 'test', 'unit', [undefined, at(61), at(61, 20)], failedFor('script_failure')),
    job(703, 'deploy', 'trigger', [undefined, at(62, 31), at(62, 59)], { kind: 'bridge' }),
  ]
  return chunksAfter([
    [reported({ id: 9008, facts, times, jobs: [unit] })],
    [reported({ id: 9008, origin: 'rest', facts, times: { ...times, updatedAt: at(63) }, jobs: [unit, ...late] })],
  ]).chunks
}

/** A pipeline for a tag that was started with a traceparent. It was triggered by a pipeline in another project, of which only the ID is known. */
function linked(): Chunk[] {
  const facts: PipelineFacts = {
    ...main,
    iid: 319,
    ref: 'v2.4.0',
    tag: true,
    source: 'pipeline',
    sourcePipeline: { pipelineId: 8000, projectId: 12 },
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  }
  return chunksAfter([[reported({ id: 9009, facts, times: { createdAt: at(80), finishedAt: at(80, 9) } })]]).chunks
}

/**
 * A pipeline on a future platform: it has statuses that this version does not know, and nothing was reported about it for days. Also a pipeline whose
 * configuration failed before any job was created.
 */
function unknown(): Chunk[] {
  const tomorrow = reported({
    id: 9010,
    facts: { status: 'awaiting_quota', ref: 'main', sha },
    times: { createdAt: at(90) },
    jobs: [job(801, 'test', 'unit', [undefined, at(90, 5)], { status: 'paused_by_policy' })],
  })
  const broken = reported({
    id: 9011,
    facts: { status: 'failed', ref: 'main', sha, source: 'schedule', yamlErrors: 'jobs config should contain a job' },
    times: { createdAt: at(92) + 1, finishedAt: at(92) },
  })
  return [...chunksAfter([[tomorrow]]).chunks, ...chunksAfter([[broken]]).chunks]
}

/** The chunks of every story, by the name of its golden file. */
export const stories: Readonly<Record<string, readonly Chunk[]>> = {
  success: success(),
  failure: failure(),
  retry: retry(),
  canceled: canceled(),
  family: family(),
  'merge-request': mergeRequest(),
  blocked: blocked(),
  supplement: supplement(),
  linked: linked(),
  unknown: unknown(),
}
