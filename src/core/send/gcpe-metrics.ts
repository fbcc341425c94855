// The metrics of gcpe (`core/telemetry/mapping/gcpe.ts`) for `/metrics` (`PIPESPAN_METRICS_COMPAT`), from the store alone: the newest run of each ref with its
// jobs and tests, and what features add. A scrape loads only what changed since the last one.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { remember } from '../../lib/bounded-map.ts'
import { isBlocked, wasSkipped } from '../../model/status.ts'
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { createGcpeFamilies, type GcpeFamilies } from '../telemetry/metrics/gcpe-families.ts'
import { createNewest, type NewestOptions, type NewestRow } from './newest.ts'
import { latestRunOf, latestTests, type LatestRun } from './latest-run.ts'
import {
  gcpeJobMetrics,
  gcpePipelineMetrics,
  gcpeReportMetrics,
  gcpeRunMetrics,
  gcpeSuiteMetrics,
  type GcpeTests,
} from '../telemetry/mapping/gcpe.ts'
import type { Latest, ListedRun } from '../store/ports/latest.ts'
import type { Scope } from '../store/ports/scope.ts'
import type { Repositories, CountedRows } from '../store/ports/repository.ts'
import type { TelemetrySettings } from '../telemetry/settings.ts'
import type { JobView } from '../../model/job.ts'

// Counts the jobs of a ref as gcpe does: a job counts when it is newer than the one that was seen before under its name. A count belongs to the name,
// stage and tags of a job; its other labels, such as the runner, change from job to job without a new count.

/** Counts of one ref. */
const maxCounts = 2_000

interface JobRuns {
  /** The jobs of the newest run, the first time or again. */
  saw(jobs: readonly JobView[]): void
  /** How many jobs of its name, stage and tags were counted. */
  of(job: JobView): number
}

function createJobRuns(): JobRuns {
  const before = new Map<string, Pick<JobView, 'id' | 'status'>>()
  const counts = new Map<string, number>()
  return {
    saw: jobs => {
      for (const job of jobs) {
        const { id, status, name = '' } = job
        const last = before.get(name)
        const [key, known] = [keyOf(job), counts.get(keyOf(job))]
        const isNew = last !== undefined && hasRun(job) && (last.id !== id || !hasRun(last))
        remember(counts, key, (known ?? 0) + (known !== undefined && isNew ? 1 : 0), maxCounts)
        remember(before, name, { id, status }, maxCounts)
      }
    },
    of: job => counts.get(keyOf(job)) ?? 0,
  }
}

function hasRun({ status }: Pick<JobView, 'status'>): boolean {
  return !wasSkipped(status) && !isBlocked(status)
}

function keyOf({ name = '', stage = '', tags = [] }: JobView): string {
  return JSON.stringify([name, stage, tags.toSorted()])
}

export interface GcpeMetricsOptions {
  readonly latest: Latest
  readonly countedRows: Repositories['countedRows']
  readonly settings: Pick<TelemetrySettings, 'foldRef' | 'maxSeries'>
  /** What readers see. */
  readonly scope: Scope
  /** What features add. */
  readonly others?: readonly GcpeSource[] | undefined
}

/** What has series beside the newest pipelines. */
export interface GcpeSource {
  /** Called at each scrape. `runOf`: the newest run of a branch or tag of a project. */
  add(families: GcpeFamilies, runOf: (owner: string, ref: string) => LatestRun | undefined): Promise<void>
}

/** Refs of a project: those with the newest pipelines. */
export const maxRefs = 500
/** Rows of one statement. */
const [versionsPerRead, runsPerRead] = [500, 20]
/** Jobs of one run whose test reports are read. */
const maxReports = 200

/** What is remembered of a ref. */
interface Remembered {
  /** Of what it was loaded from. */
  readonly version: string
  /** Undefined if the ref has no series, or its run is damaged. */
  readonly run: LatestRun | undefined
  readonly tests: readonly GcpeTests[]
  readonly jobRuns: JobRuns
}

type Refs = ReadonlyMap<string, Remembered>

export function createGcpeMetrics(options: GcpeMetricsOptions): () => Promise<readonly ScopeMetrics[]> {
  const { latest, countedRows, settings, scope, others = [] } = options
  const { foldRef, maxSeries } = settings
  const runs = createNewest<ListedRun>({
    read: async (after, limit) => latest.runsAfter(after, limit),
    placeOf: row => refPlace(row, settings),
    rankOf: ({ pipelineId }) => pipelineId,
    maxNames: maxRefs,
    counts: storedCounts(countedRows, 'runs'),
  })
  let refs: Refs = new Map()

  /** Loads what changed. Only the newest refs of a project have jobs, as more than `maxSeries` would not be shown. */
  async function load(): Promise<Refs> {
    const all = runs.all()
    const versions = await versionsOf([...all.values()].flat())
    const next = new Map<string, Remembered>()
    for (const [owner, rows] of all) {
      for (const { name, row } of rows) if (!versions.has(row.id)) runs.forget(owner, name)
      const present = rows.filter(({ row }) => versions.has(row.id))
      let jobs = 0
      for (let at = 0; at < present.length; at += runsPerRead) {
        const some = present.slice(at, at + runsPerRead)
        const loaded = await loadRefs(owner, some, jobs < maxSeries, versions)
        for (const [ref, one] of loaded) {
          next.set(ref, one)
          jobs += one.run?.jobs.length ?? 0
        }
      }
    }
    return next
  }

  async function versionsOf(rows: readonly NewestRow<ListedRun>[]): Promise<ReadonlyMap<number, string>> {
    const versions = new Map<number, string>()
    for (let at = 0; at < rows.length; at += versionsPerRead) {
      const ids = rows.slice(at, at + versionsPerRead).map(({ row }) => row.id)
      for (const [id, version] of await latest.versions(ids)) versions.set(id, version)
      await nextTurn()
    }
    return versions
  }

  async function loadRefs(
    owner: string,
    rows: readonly NewestRow<ListedRun>[],
    withJobs: boolean,
    versions: ReadonlyMap<number, string>,
  ): Promise<[string, Remembered][]> {
    const wanted = rows.map(({ name, row }) => ({
      ...{ ref: refKey(owner, name), id: row.id },
      version: `${row.id} ${versions.get(row.id)} ${withJobs}`,
    }))
    const changed = wanted.filter(({ ref, version }) => refs.get(ref)?.version !== version)
    const found = await latest.runs(changed.map(({ id }) => id))
    const loaded = wanted.map(async ({ ref, id, version }): Promise<[string, Remembered]> => {
      const known = refs.get(ref)
      if (known?.version === version) return [ref, known]
      const stored = found.get(id)
      const whole = stored && latestRunOf(stored, foldRef)
      const tests = whole === undefined ? [] : latestTests(whole, await latest.testTotals(id, maxReports))
      const jobRuns = known?.jobRuns ?? createJobRuns()
      const run = whole && { ...whole, jobs: withJobs ? whole.jobs : [] }
      jobRuns.saw(run?.jobs ?? [])
      return [ref, { version, run, tests, jobRuns }]
    })
    return Promise.all(loaded)
  }

  return async () => {
    await runs.refresh()
    refs = await load()
    const families = createGcpeFamilies(maxSeries)
    for (const [owner, rows] of runs.all()) {
      for (const { name, counts } of rows) {
        const known = refs.get(refKey(owner, name))
        const [instance] = JSON.parse(owner) as [string, number]
        const run = known?.run
        if (known !== undefined && run !== undefined && scope.sees({ instance, path: run.pipeline.project }))
          addRef(families, run, known, counts)
      }
    }
    for (const one of others) await one.add(families, (owner, ref) => refs.get(refKey(owner, refName(ref, false)))?.run)
    return families.scopes()
  }
}

function addRef(
  families: GcpeFamilies,
  { pipeline, jobs }: LatestRun,
  { tests, jobRuns }: Remembered,
  counts: ReadonlyMap<string, number>,
): void {
  families.add(gcpePipelineMetrics, pipeline)
  for (const [source, runs] of counts) families.add(gcpeRunMetrics, { ...pipeline, source, runs })
  for (const job of jobs) families.add(gcpeJobMetrics, { pipeline, job, runs: jobRuns.of(job) })
  for (const one of tests) families.add(one.suite === undefined ? gcpeReportMetrics : gcpeSuiteMetrics, one)
}

/** Child pipelines are parts of others. Refs that are folded have no newest pipeline; the default branch is only known once a run is loaded. */
function refPlace(
  row: ListedRun,
  { foldRef }: Pick<TelemetrySettings, 'foldRef'>,
): { owner: string; name: string; counted: string } | undefined {
  const { ref, source, projectId } = row
  if (ref === '' || source === 'parent_pipeline') return undefined
  const folded = foldRef({ pipeline: { facts: { ref, source } }, project: { id: projectId, defaultBranch: ref } })
  if (folded !== ref) return undefined
  const isMergeRequest = source === 'merge_request_event' || ref.startsWith('refs/merge-requests/')
  return { owner: ownerOf(row), name: refName(ref, isMergeRequest), counted: source }
}

/** The counts of what was the newest, as they are stored. */
export function storedCounts(
  rows: Repositories['countedRows'],
  kind: CountedRows['kind'],
): NewestOptions<never>['counts'] {
  return {
    load: async () =>
      new Map((await rows.all()).filter(one => one.kind === kind).map(counts => [ownerOf(counts), counts])),
    save: async (owner, counts) => {
      const [instance, projectId] = JSON.parse(owner) as [string, number]
      await rows.put({ kind, instance, projectId, ...counts })
    },
  }
}

/** Names a project of an instance. */
export function ownerOf({ instance, projectId }: Pick<ListedRun, 'instance' | 'projectId'>): string {
  return JSON.stringify([instance, projectId])
}

function refName(ref: string, isMergeRequest: boolean): string {
  return JSON.stringify([ref, isMergeRequest])
}

function refKey(owner: string, name: string): string {
  return owner + name
}
