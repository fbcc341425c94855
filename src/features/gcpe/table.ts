// The metrics of gitlab-ci-pipelines-exporter (gcpe). Names, labels and types are the same as in gcpe, so its dashboards work with `/metrics`. As in
// gcpe, an unknown value is 0 and an unknown label is empty.
import { hasFailed } from '../../model/status.ts'
import type { JobView } from '../../model/job.ts'
import type { PipelineFacts } from '../../model/observation.ts'
import type { TestTotals } from '../../model/test-report.ts'

/** The newest pipeline of a ref. */
export interface GcpePipeline {
  /** The full path of the project. */
  readonly project: string
  readonly kind: 'branch' | 'tag' | 'merge-request'
  /** The name of the branch or tag, or the number of the merge request. */
  readonly ref: string
  readonly id: number
  readonly facts: Pick<PipelineFacts, 'source' | 'coverage' | 'duration' | 'queuedDuration'>
  readonly status: string
  /** When the pipeline was last updated, Unix time in seconds. */
  readonly updatedAt: number
}

export interface GcpeRunCount extends Pick<GcpePipeline, 'project' | 'kind' | 'ref'> {
  readonly source: string
  readonly runs: number
}

export interface GcpeJob {
  readonly pipeline: GcpePipeline
  readonly job: JobView
  readonly runs: number
}

export interface GcpeTests {
  readonly pipeline: GcpePipeline
  /** The name of a job, without the number of a parallel job. Undefined for the totals of all tests of the pipeline. */
  readonly suite?: string | undefined
  readonly totals: Omit<TestTotals, 'flaky'>
}

/** The newest deployment of an environment. */
export interface GcpeEnvironment {
  readonly project: string
  readonly environment: string
  readonly ref: string
  readonly kind: GcpePipeline['kind']
  readonly revision: string
  /** The newest known commit of the ref; empty if unknown. */
  readonly latestRevision: string
  readonly user: string
  readonly status: string
  readonly jobId: number
  /** The duration of the deployment in seconds. */
  readonly duration: number
  /** When the deployment began, Unix time in seconds. */
  readonly beganAt: number
  readonly deployments: number
  readonly behindCommits?: number | undefined
  readonly behindSeconds?: number | undefined
}

/** The status of a pipeline that succeeded although jobs failed that were allowed to fail. */
export const warning = 'success_with_warnings'

type Label<S> = readonly [name: string, value: (subject: S) => string]

export interface GcpeRow<S> {
  readonly name: string
  readonly type: 'gauge' | 'counter'
  readonly labels: readonly Label<S>[]
  readonly description: string
  /** Returns the value of the metric for a subject, or undefined if the subject gets no point. */
  readonly value: (subject: S) => number | undefined
}

type Ref = Pick<GcpePipeline, 'project' | 'kind' | 'ref'>

function refLabels<S>(refOf: (subject: S) => Ref, source: (subject: S) => string): readonly Label<S>[] {
  return [
    ['project', subject => refOf(subject).project],
    ['topics', () => ''],
    ['kind', subject => refOf(subject).kind],
    ['ref', subject => refOf(subject).ref],
    ['source', source],
    ['variables', () => ''],
  ]
}

const pipeline = refLabels<GcpePipeline>(
  of => of,
  ({ facts }) => facts.source ?? '',
)
const runCount = refLabels<GcpeRunCount>(
  of => of,
  ({ source }) => source,
)
const job: readonly Label<GcpeJob>[] = [
  ...refLabels<GcpeJob>(
    of => of.pipeline,
    of => of.pipeline.facts.source ?? '',
  ),
  ['stage', of => of.job.stage ?? ''],
  ['job_name', of => of.job.name ?? ''],
  ['runner_description', of => of.job.runner?.description ?? ''],
  ['tag_list', of => (of.job.tags ?? []).join(',')],
  ['failure_reason', of => of.job.failureReason ?? ''],
]
const report = refLabels<GcpeTests>(
  of => of.pipeline,
  of => of.pipeline.facts.source ?? '',
)
const suite: readonly Label<GcpeTests>[] = [...report, ['test_suite_name', of => of.suite ?? '']]
const environment: readonly Label<GcpeEnvironment>[] = [
  ['project', of => of.project],
  ['environment', of => of.environment],
]
const information: readonly Label<GcpeEnvironment>[] = [
  ...environment,
  ['environment_id', () => ''],
  ['external_url', () => ''],
  ['kind', of => of.kind],
  ['ref', of => of.ref],
  ['latest_commit_short_id', of => shortId(of.latestRevision)],
  ['current_commit_short_id', of => shortId(of.revision)],
  ['available', () => 'true'],
  ['username', of => of.user],
]

const gauge = 'gauge' as const
const counter = 'counter' as const

// prettier-ignore
export const gcpePipelineMetrics: readonly GcpeRow<GcpePipeline>[] = [
  { name: 'gitlab_ci_pipeline_id', type: gauge, labels: pipeline, value: of => of.id, description: 'ID of the newest pipeline.' },
  { name: 'gitlab_ci_pipeline_status', type: gauge, labels: [...pipeline, ['status', of => of.status]], value: () => 1, description: '1 for the current status of the newest pipeline.' },
  { name: 'gitlab_ci_pipeline_timestamp', type: gauge, labels: pipeline, value: of => of.updatedAt, description: 'When the newest pipeline last changed.' },
  { name: 'gitlab_ci_pipeline_duration_seconds', type: gauge, labels: pipeline, value: of => of.facts.duration ?? 0, description: 'Duration of the newest pipeline.' },
  { name: 'gitlab_ci_pipeline_queued_duration_seconds', type: gauge, labels: pipeline, value: of => of.facts.queuedDuration ?? 0, description: 'How long the newest pipeline waited.' },
  { name: 'gitlab_ci_pipeline_coverage', type: gauge, labels: pipeline, value: of => of.facts.coverage ?? 0, description: 'Coverage of the newest pipeline, percent.' },
]

// prettier-ignore
export const gcpeRunMetrics: readonly GcpeRow<GcpeRunCount>[] = [
  { name: 'gitlab_ci_pipeline_run_count', type: counter, labels: runCount, value: of => of.runs, description: 'Pipelines that were stored since this process started.' },
]

// prettier-ignore
export const gcpeJobMetrics: readonly GcpeRow<GcpeJob>[] = [
  { name: 'gitlab_ci_pipeline_job_id', type: gauge, labels: job, value: of => of.job.id, description: 'ID of the newest job of this name.' },
  { name: 'gitlab_ci_pipeline_job_status', type: gauge, labels: [...job, ['status', of => jobStatus(of.job)]], value: () => 1, description: '1 for the current status of the newest job.' },
  { name: 'gitlab_ci_pipeline_job_timestamp', type: gauge, labels: job, value: of => seconds(of.job.createdAt), description: 'When the newest job was created.' },
  { name: 'gitlab_ci_pipeline_job_duration_seconds', type: gauge, labels: job, value: of => of.job.duration ?? 0, description: 'Duration of the newest job.' },
  { name: 'gitlab_ci_pipeline_job_queued_duration_seconds', type: gauge, labels: job, value: of => of.job.queuedDuration ?? 0, description: 'How long the newest job waited for a runner.' },
  { name: 'gitlab_ci_pipeline_job_artifact_size_bytes', type: gauge, labels: job, value: of => artifactBytes(of.job), description: 'Size of all artifacts of the newest job, including its log.' },
  { name: 'gitlab_ci_pipeline_job_run_count', type: counter, labels: job, value: of => of.runs, description: 'New jobs with this name, stage and tags since this process first saw one, on any runner.' },
]

export const gcpeReportMetrics = testMetrics('gitlab_ci_pipeline_test_report', report, 'of the newest pipeline')
export const gcpeSuiteMetrics = testMetrics('gitlab_ci_pipeline_test_suite', suite, 'of the jobs with this name')

// prettier-ignore
export const gcpeEnvironmentMetrics: readonly GcpeRow<GcpeEnvironment>[] = [
  { name: 'gitlab_ci_environment_behind_commits_count', type: gauge, labels: environment, value: of => of.behindCommits, description: 'Commits of the ref that are not deployed.' },
  { name: 'gitlab_ci_environment_behind_duration_seconds', type: gauge, labels: environment, value: of => of.behindSeconds, description: 'Time from the deployment to the newest commit of the ref that has a pipeline.' },
  { name: 'gitlab_ci_environment_deployment_count', type: counter, labels: environment, value: of => of.deployments, description: 'Deployments that were stored since this process started.' },
  { name: 'gitlab_ci_environment_deployment_duration_seconds', type: gauge, labels: environment, value: of => of.duration, description: 'Duration of the newest deployment.' },
  { name: 'gitlab_ci_environment_deployment_job_id', type: gauge, labels: environment, value: of => of.jobId, description: 'ID of the job of the newest deployment.' },
  { name: 'gitlab_ci_environment_deployment_status', type: gauge, labels: [...environment, ['status', of => of.status]], value: () => 1, description: '1 for the current status of the newest deployment.' },
  { name: 'gitlab_ci_environment_deployment_timestamp', type: gauge, labels: environment, value: of => of.beganAt, description: 'When the newest deployment began.' },
  { name: 'gitlab_ci_environment_information', type: gauge, labels: information, value: () => 1, description: 'Information about the environment, in labels.' },
]

function testMetrics(
  prefix: string,
  labels: readonly Label<GcpeTests>[],
  whose: string,
): readonly GcpeRow<GcpeTests>[] {
  const row = (end: string, what: string, value: (totals: GcpeTests['totals']) => number): GcpeRow<GcpeTests> => ({
    ...{ name: `${prefix}_${end}`, type: gauge, labels, description: `${what} ${whose}.` },
    value: ({ totals }) => value(totals),
  })
  return [
    row('total_time', 'Seconds of all tests', totals => totals.seconds),
    row('total_count', 'All tests', totals => totals.total),
    row('success_count', 'Passed tests', totals => totals.passed),
    row('failed_count', 'Failed tests', totals => totals.failed),
    row('skipped_count', 'Skipped tests', totals => totals.skipped),
    row('error_count', 'Tests that ended in an error', totals => totals.errored),
  ]
}

/** The status of a job as gcpe reports it: an allowed failure is a warning. */
function jobStatus({ status, allowFailure }: JobView): string {
  return hasFailed(status) && allowFailure === true ? warning : status
}

/** Returns the size of all artifacts of a job, or the size of its archive if no other size is known. */
function artifactBytes({ artifactSizes, artifacts }: JobView): number {
  if (artifactSizes === undefined) return artifacts?.size ?? 0
  return Object.values(artifactSizes).reduce((sum, size) => sum + size, 0)
}

/** Returns the Unix time in whole seconds; 0 if the time is unknown. */
export function seconds(ms: number | undefined): number {
  return Math.floor((ms ?? 0) / 1_000)
}

function shortId(revision: string): string {
  return revision.slice(0, 8)
}
