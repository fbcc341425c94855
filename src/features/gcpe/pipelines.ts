// Adds the newest pipeline of each ref, with its jobs and tests, to a scrape. All data comes from the store. A scrape loads only the data that has
// changed since the last scrape.
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

const [versionsPerRead, runsPerRead] = [500, 20]
/** The maximum number of jobs of one run whose test reports are read. */
const maxReports = 200

/** The cached data of a ref. */
interface Remembered {
  /** The version of the rows that this ref's data was loaded from. */
  readonly version: string
  /** The newest run of the ref. Undefined if the ref has no series, or the run is damaged. */
  readonly run: LatestRun | undefined
  readonly tests: readonly GcpeTests[]
  readonly jobRuns: JobRuns
}

type Refs = ReadonlyMap<string, Remembered>

export interface NewestPipelines {
  /** Adds the newest pipelines to a scrape. */
  readonly addTo: (families: GcpeFamilies) => Promise<void>
  /** Returns the newest run of a branch or tag, as of the last scrape. */
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
    keysOf: row => refKeys(row, settings),
    rankOf: ({ pipelineId }) => pipelineId,
  })
  let refs: Refs = new Map()

  /** Loads runs that changed. Jobs are loaded only for the newest refs of a project, because a scrape shows at most `maxSeries` of them. */
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

/**
 * Returns undefined for child pipelines, which are part of another pipeline, and for refs that have no series of their own. The default branch is not
 * known before the run is loaded, so every ref is treated as the default branch here.
 */
function refKeys(
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

/** The maximum number of job counts per ref. */
const maxCounts = 2_000

/**
 * Counts the jobs of a ref as gcpe does: a job is counted if it is newer than the last job seen with its name. There is one count for each
 * combination of name, stage and tags. Other labels of a job, such as its runner, change from job to job without starting a new count.
 */
interface JobRuns {
  /** Processes the jobs of the newest run. Called whenever that run is loaded, for the first time or again. */
  saw(jobs: readonly JobView[]): void
  /** Returns how many jobs with this job's name, stage and tags were counted. */
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
