// The newest pipeline of each ref with its jobs and tests, from the store alone. A scrape loads only what changed since the last one.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createNewest, ownerOf, type NewestRow } from './newest.ts'
import { gcpeJobMetrics, gcpePipelineMetrics, gcpeReportMetrics, gcpeRunMetrics, gcpeSuiteMetrics } from './table.ts'
import { latestRunOf, latestTests, type LatestRun } from './latest-run.ts'
import { isBlocked, wasSkipped } from '../../model/status.ts'
import { latestRuns, type ListedRun } from './sql/latest.ts'
import { remember } from '../../lib/bounded-map.ts'
import type { JobView } from '../../model/job.ts'
import type { GcpeFamilies } from './families.ts'
import type { GcpeTests } from './table.ts'
import type { ScrapeView } from '../../daemon/feature.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'
import type { TelemetrySettings } from '../../core/telemetry/settings.ts'

/** How many rows one statement reads. */
const [versionsPerRead, runsPerRead] = [500, 20]
/** The maximum of jobs of one run whose test reports are read. */
const maxReports = 200

/** What is remembered of a ref. */
interface Remembered {
  /** The version of the rows that it was loaded from. */
  readonly version: string
  /** Undefined if the ref has no series, or its run is damaged. */
  readonly run: LatestRun | undefined
  readonly tests: readonly GcpeTests[]
  readonly jobRuns: JobRuns
}

type Refs = ReadonlyMap<string, Remembered>

export interface NewestPipelines {
  /** Called at each scrape. */
  readonly addTo: (families: GcpeFamilies) => Promise<void>
  /** The newest run of a branch or tag of a project, as of the last scrape. */
  readonly runOf: (owner: string, ref: string) => LatestRun | undefined
}

export function createNewestPipelines(
  store: Pick<SharedStore, 'on'>,
  { settings, scope }: ScrapeView,
): NewestPipelines {
  const { foldRef, maxSeries } = settings
  const latest = store.on(latestRuns)
  const runs = createNewest<ListedRun>({
    read: async (after, limit) => latest.after(after, limit),
    placeOf: row => refPlace(row, settings),
    rankOf: ({ pipelineId }) => pipelineId,
  })
  let refs: Refs = new Map()

  /** Loads what changed. Jobs are loaded for the newest refs of a project only, because more than `maxSeries` would not be shown. */
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
    const found = await latest.byId(changed.map(({ id }) => id))
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

  return {
    addTo: async families => {
      await runs.refresh()
      refs = await load()
      for (const [owner, rows] of runs.all()) {
        const [instance] = JSON.parse(owner) as [string, number]
        for (const { name, counts } of rows) {
          const known = refs.get(refKey(owner, name))
          if (known?.run !== undefined && scope.sees({ instance, path: known.run.pipeline.project }))
            addRef(families, known.run, known, counts)
        }
      }
    },
    runOf: (owner, ref) => refs.get(refKey(owner, refName(ref, false)))?.run,
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

/** Undefined for a child pipeline, which is part of another one, and for a folded ref. The default branch is only known once a run is loaded. */
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

function refName(ref: string, isMergeRequest: boolean): string {
  return JSON.stringify([ref, isMergeRequest])
}

function refKey(owner: string, name: string): string {
  return owner + name
}

/** The maximum of counts of one ref. */
const maxCounts = 2_000

/**
 * Counts the jobs of a ref as gcpe does: a job is counted if it is newer than the one that was seen before under its name. A count belongs to the name, stage
 * and tags of a job; its other labels, such as the runner, change from job to job without a new count.
 */
interface JobRuns {
  /** Takes the jobs of the newest run, when it is seen for the first time or again. */
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
