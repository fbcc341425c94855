// The metrics of jobs: runner time and its cost, queue times, failures of the CI system, and artifacts. They count the jobs of all chunks, so jobs
// that become known late are included.
import { hasFailed } from '../../../model/status.ts'
import { ATTR_ERROR_TYPE } from '@opentelemetry/semantic-conventions'
import { computePurposeOf, computeSeconds } from '../../../model/runner-time.ts'
import { groupNameOf } from '../../../model/job.ts'
import { errorTypeOf, outcomeOfJob } from './statuses.ts'
import { meaningOf } from './failure-reasons.ts'
import { tagSetOf } from '../../../model/totals.ts'
import { textRow } from './row.ts'
import {
  ATTR_CICD_PIPELINE_TASK_NAME,
  ATTR_CICD_PIPELINE_TASK_RUN_RESULT,
  ATTR_CICD_SYSTEM_COMPONENT,
} from './semconv.ts'
import type { Chunk, JobSnapshot } from '../../../model/chunk.ts'
import {
  costUnit,
  counter,
  histogram,
  pipelineName,
  refClass,
  type Measured,
  type MetricAttribute,
  type MetricRow,
} from './metric-row.ts'

/** The rate name for jobs without a rate in the price table. */
const unpriced = 'unpriced'

const workerType: MetricAttribute = textRow('platform.cicd.worker.type', 'known', ({ job }) => job?.runner?.type)

const computeAttributes: readonly MetricAttribute[] = [
  workerType,
  textRow(
    'platform.cicd.compute.rate',
    'always',
    ({ job }) => job?.rate ?? unpriced,
    'its name in the price table, else `unpriced`',
  ),
  textRow(ATTR_CICD_PIPELINE_TASK_RUN_RESULT, 'always', ({ job }) => job && outcomeOfJob(job).result),
  textRow(
    'platform.cicd.compute.purpose',
    'always',
    ({ job, chunk }) => job && computePurposeOf(job, chunk.pipeline.superseded === true),
  ),
]

const queueAttributes: readonly MetricAttribute[] = [
  workerType,
  textRow('platform.cicd.worker.tag_set', 'known', ({ job }) => job && tagSetOf(job.runner?.tags ?? job.tags)),
]

const systemErrorAttributes: readonly MetricAttribute[] = [
  textRow(ATTR_CICD_SYSTEM_COMPONENT, 'always', ({ job }) => job && meaningOf(job.failureReason ?? '').component),
  textRow(ATTR_ERROR_TYPE, 'always', ({ job }) => job && errorTypeOf(outcomeOfJob(job))),
]

const artifactAttributes: readonly MetricAttribute[] = [
  textRow('platform.artifact.type', 'always', ({ artifact }) => artifact),
]

/**
 * The maximum number of job names per project in metrics. A limit is needed because the number of series is the product of names, results, pipelines
 * and refs.
 */
const maxTaskNames = { attribute: ATTR_CICD_PIPELINE_TASK_NAME, max: 200 }

const taskRunAttributes: readonly MetricAttribute[] = [
  pipelineName,
  textRow(
    maxTaskNames.attribute,
    'always',
    ({ job }) => job && taskNameOf(job),
    'without the index of a parallel job; `*` for all names beyond 200 in a project',
  ),
  textRow(ATTR_CICD_PIPELINE_TASK_RUN_RESULT, 'always', ({ job }) => job && outcomeOfJob(job).result),
  refClass,
]

/** This metric is exported for the refs that `PIPESPAN_JOB_METRICS` selects. */
export const taskRunMetric = 'platform.cicd.pipeline.task.run.duration'

const ofJobs = { of: 'jobs' } as const

// prettier-ignore
export const jobMetrics: readonly MetricRow[] = [
  { name: 'platform.cicd.compute.time', ...ofJobs, ...counter, number: 'double', unit: 's', attributes: computeAttributes, when: 'jobs that ran; no bridges', measured: compute,
    description: 'Runner time of jobs, by purpose: useful, failed, retried or superseded.' },
  { name: 'platform.cicd.compute.cost', ...ofJobs, ...counter, number: 'double', unit: costUnit, attributes: computeAttributes, when: 'jobs that a rule of the price table matches', measured: costs,
    description: 'Cost of the runner time of jobs, by the price table.' },
  { name: 'platform.cicd.pipeline.task.run.queued_duration', ...ofJobs, ...histogram, attributes: queueAttributes, when: 'jobs that ran; no bridges', measured: queues,
    description: 'Time that jobs waited for a runner, by type and tags of the runner.' },
  { name: taskRunMetric, ...ofJobs, ...histogram, limited: maxTaskNames, attributes: taskRunAttributes, when: 'jobs that ran, of the default branch unless `PIPESPAN_JOB_METRICS=all`; no bridges', measured: taskRuns,
    description: 'Duration of jobs, by name; the parts of a parallel job share a name.' },
  { name: 'cicd.system.errors', ...ofJobs, ...counter, unit: '{error}', attributes: systemErrorAttributes, when: 'jobs that failed because of the CI system', measured: systemErrors,
    description: 'Job failures that the CI system itself caused, by its component.' },
  { name: 'platform.cicd.artifacts.size', ...ofJobs, ...counter, unit: 'By', attributes: artifactAttributes, when: 'known from the API before the export of the job', measured: artifacts,
    description: 'Size of job artifacts, by type; `trace` is the log.' },
]

/** Measures the duration of each job that ran, in seconds. */
function taskRuns(chunk: Chunk): Measured[] {
  return grouped(
    chunk,
    job => `${taskNameOf(job)}\n${job.status}\n${job.failureReason ?? ''}`,
    job => (job.name === undefined ? undefined : computeSeconds(job)),
  )
}

/** The maximum length of a job name on the platform, in UTF-16 code units. */
const maxNameLength = 255

function taskNameOf({ name = '' }: JobSnapshot): string {
  return groupNameOf(name).slice(0, maxNameLength)
}

/** Measures the runner time of jobs in seconds, grouped by the attributes of the metric. */
function compute(chunk: Chunk): Measured[] {
  return grouped(chunk, computeKey, computeSeconds)
}

function costs(chunk: Chunk): Measured[] {
  return grouped(chunk, computeKey, ({ cost }) => cost)
}

/** Measures how many seconds jobs waited before they ran. */
function queues(chunk: Chunk): Measured[] {
  // Runner tags are not sorted here, which is faster. Equal sets of tags end up in the same series anyway.
  const key = ({ runner, tags }: JobSnapshot): string =>
    `${runner?.type ?? ''}\n${(runner?.tags ?? tags)?.join(',') ?? ''}`
  return grouped(chunk, key, job =>
    job.kind === 'bridge' || job.startedAt === undefined || !(Number(job.queuedDuration) >= 0)
      ? undefined
      : job.queuedDuration,
  )
}

function systemErrors(chunk: Chunk): Measured[] {
  return grouped(
    chunk,
    job => job.failureReason ?? '',
    ({ failureReason: reason, status }) =>
      reason !== undefined && hasFailed(status) && meaningOf(reason).component !== undefined ? 1 : undefined,
  )
}

/** Measures the size of artifacts in bytes, by type. */
function artifacts({ jobs }: Chunk): Measured[] {
  const sizes = new Map<string, number>()
  for (const { artifactSizes } of jobs) {
    for (const type in artifactSizes) sizes.set(type, (sizes.get(type) ?? 0) + (artifactSizes[type] ?? 0))
  }
  return [...sizes].map(([artifact, size]) => ({ artifact, values: [size] }))
}

function computeKey({ runner, rate, status, failureReason, retried }: JobSnapshot): string {
  return `${runner?.type ?? ''}\n${rate ?? ''}\n${status}\n${failureReason ?? ''}\n${retried}`
}

/** Groups the jobs by key and returns one measurement per group. Jobs without a value are omitted. */
function grouped(
  { jobs }: Chunk,
  keyOf: (job: JobSnapshot) => string,
  valueOf: (job: JobSnapshot) => number | undefined,
): Measured[] {
  const groups = new Map<string, { readonly job: JobSnapshot; readonly values: number[] }>()
  for (const job of jobs) {
    const value = valueOf(job)
    if (value === undefined || !Number.isFinite(value)) continue
    const key = keyOf(job)
    const known = groups.get(key)
    if (known === undefined) groups.set(key, { job, values: [value] })
    else known.values.push(value)
  }
  return [...groups.values()]
}
