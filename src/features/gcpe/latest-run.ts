// The newest run of a ref in the form that the gcpe metrics show. Pure.
import { branchClassOf } from '../../model/pipeline.ts'
import { hasSucceeded, isTerminal } from '../../model/status.ts'
import { later } from '../../model/instant.ts'
import { seconds, warning, type GcpePipeline, type GcpeTests } from './table.ts'
import { groupNameOf, viewJob, type JobView } from '../../model/job.ts'
import type { JobInside } from '../../model/inside.ts'
import type { StoredRun } from '../../core/store/ports/runs.ts'
import type { FoldRef } from '../../core/telemetry/settings.ts'

export interface LatestRun {
  readonly pipeline: GcpePipeline
  /** The commit of the run; empty if it is unknown. */
  readonly revision: string
  /** Unix time in milliseconds. */
  readonly committedAt?: number | undefined
  /** The newest job of each name, without bridges. */
  readonly jobs: readonly JobView[]
}

/** Returns undefined if the run's ref has no series of its own. */
export function latestRunOf({ run, timing }: StoredRun, foldRef: FoldRef): LatestRun | undefined {
  const facts = run.pipeline?.record.facts
  const project = run.project.facts
  if (run.pipeline === undefined || facts === undefined) return undefined
  const { ref = '', source, coverage, duration, queuedDuration, mergeRequest, sha = '', committedAt } = facts
  if (foldRef({ pipeline: { facts }, project }) !== ref) return undefined
  const kind = kinds[branchClassOf(facts, project)]
  const { times } = run.pipeline
  const updatedAt = seconds(later(times.updatedAt, times.finishedAt) ?? timing.changedAt)
  const number = mergeRequest?.iid.toString() ?? ref
  return {
    pipeline: {
      ...{ project: project.path ?? project.name ?? '', kind, ref: kind === 'merge-request' ? number : ref },
      ...{ id: run.key.pipelineId, facts: { source, coverage, duration, queuedDuration } },
      ...{ status: isWarning(facts) ? warning : facts.status, updatedAt },
    },
    revision: sha,
    committedAt,
    jobs: newestOfName([...run.jobs.values()].map(viewJob).filter(job => job.kind === 'job')),
  }
}

const kinds = { default: 'branch', other: 'branch', tag: 'tag', merge_request: 'merge-request' } as const

/**
 * Whether a pipeline passed with warnings: it succeeded, but jobs failed that were allowed to fail. The platform reports that in its detailed status.
 */
function isWarning({ status, detailedStatus = '' }: { status: string; detailedStatus?: string | undefined }): boolean {
  return hasSucceeded(status) && detailedStatus.includes('warning')
}

/** A retried job has a higher id than the job that it repeats. */
function newestOfName(jobs: readonly JobView[]): JobView[] {
  const byName = new Map<string, JobView>()
  for (const job of jobs.toSorted((a, b) => a.id - b.id)) byName.set(job.name ?? '', job)
  return [...byName.values()]
}

/**
 * Returns the test totals of an ended run, for the whole run and for each job; empty if there are no test reports. `read` contains the data that was
 * read from the logs and reports of the run's jobs.
 */
export function latestTests({ pipeline, jobs }: LatestRun, read: readonly JobInside[]): readonly GcpeTests[] {
  if (!isTerminal(pipeline.status) && pipeline.status !== warning) return []
  const newest = new Set(jobs.map(({ id }) => id))
  const suites = new Map<string, GcpeTests['totals']>()
  for (const { job, tests } of read) {
    const totals = tests?.summary?.totals
    if (totals === undefined || !newest.has(job.id)) continue
    const suite = groupNameOf(job.name ?? '')
    suites.set(suite, sum([suites.get(suite) ?? none, totals]))
  }
  if (suites.size === 0) return []
  const bySuite = [...suites].map(([suite, totals]) => ({ pipeline, suite, totals }))
  return [{ pipeline, totals: sum([...suites.values()]) }, ...bySuite]
}

const none: GcpeTests['totals'] = { total: 0, passed: 0, failed: 0, errored: 0, skipped: 0, seconds: 0 }

function sum(all: readonly GcpeTests['totals'][]): GcpeTests['totals'] {
  const of = (name: keyof GcpeTests['totals']): number => all.reduce((total, one) => total + one[name], 0)
  return {
    ...{ total: of('total'), passed: of('passed'), failed: of('failed') },
    ...{ errored: of('errored'), skipped: of('skipped'), seconds: of('seconds') },
  }
}
