// Declares an observation: what one source reports about a pipeline, in a normalised form, without names from the wire format or from a vendor.
import type { Millis } from './instant.ts'
import type { Status } from './status.ts'

/** The key of a run: one pipeline on one instance. */
export interface RunKey {
  /** The platform's base URL, normalised (see `instance.ts`). */
  readonly instance: string
  readonly pipelineId: number
}

export interface Person {
  readonly id?: number | undefined
  readonly username?: string | undefined
}

export interface Runner {
  readonly id: number
  readonly description?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly type?: string | undefined
  readonly active?: boolean | undefined
  readonly isShared?: boolean | undefined
}

export interface Environment {
  readonly name: string
  readonly action?: string | undefined
  readonly deploymentTier?: string | undefined
}

/** All facts of a job or a bridge other than its times. An undefined field was not reported by this source. */
export interface JobFacts {
  readonly kind: 'job' | 'bridge'
  readonly status: Status
  readonly name?: string | undefined
  readonly stage?: string | undefined
  /** How long the job ran, in seconds, with fractions. */
  readonly duration?: number | undefined
  /** How long the job waited in the queue, in seconds, with fractions. */
  readonly queuedDuration?: number | undefined
  readonly manual?: boolean | undefined
  readonly allowFailure?: boolean | undefined
  readonly failureReason?: string | undefined
  readonly when?: string | undefined
  readonly user?: Person | undefined
  readonly runner?: Runner | undefined
  readonly artifacts?: { readonly filename: string; readonly size?: number | undefined } | undefined
  /** Sizes of the job's artifacts in bytes, by the platform's artifact type. `logArtifact` is the job's log. */
  readonly artifactSizes?: Readonly<Record<string, number>> | undefined
  /** The tags that the job requires its runner to have. */
  readonly tags?: readonly string[] | undefined
  readonly environment?: Environment | undefined
  /** The test coverage that the job reports, percent. */
  readonly coverage?: number | undefined
  readonly url?: string | undefined
  /** The child pipeline that a bridge triggered. */
  readonly downstream?: { readonly pipelineId: number; readonly projectId?: number | undefined } | undefined
}

/** Three of the platform's artifact types: a job's log, the archive of its files, and its JUnit reports. */
export const logArtifact = 'trace'
export const archiveArtifact = 'archive'
export const testArtifact = 'junit'

export interface JobTimes {
  readonly createdAt?: Millis | undefined
  readonly startedAt?: Millis | undefined
  readonly finishedAt?: Millis | undefined
}

export interface ObservedJob {
  readonly id: number
  readonly facts: JobFacts
  readonly times: JobTimes
}

/** The pipeline that triggered a child pipeline or a multi-project pipeline. */
export interface SourcePipeline {
  readonly pipelineId: number
  readonly projectId?: number | undefined
  /** The ID of the bridge that triggered the pipeline, or of the job that triggered it with its job token. */
  readonly jobId?: number | undefined
  /** True if the platform is new enough to list a parent's bridges in the parent's payload. */
  readonly bridgesAreListed?: boolean | undefined
  /** True if the platform is new enough to name bridges but names none, because a job triggered the pipeline with its job token. */
  readonly startedByJob?: boolean | undefined
}

export interface MergeRequest {
  readonly id?: number | undefined
  readonly iid: number
  readonly title?: string | undefined
  readonly state?: string | undefined
  readonly draft?: boolean | undefined
  readonly sourceBranch?: string | undefined
  readonly targetBranch?: string | undefined
  readonly url?: string | undefined
  /** True if the merge request comes from another project. */
  readonly fork?: boolean | undefined
  /** The ID of the merge request's target project. It is set only for a merge request from a fork. */
  readonly targetProjectId?: number | undefined
}

/** The facts that are known about a pipeline, except its times. A field is undefined if the source of this observation did not report it. */
export interface PipelineFacts {
  readonly status: Status
  readonly iid?: number | undefined
  readonly name?: string | undefined
  readonly ref?: string | undefined
  readonly sha?: string | undefined
  readonly beforeSha?: string | undefined
  readonly tag?: boolean | undefined
  readonly source?: string | undefined
  readonly detailedStatus?: string | undefined
  readonly stages?: readonly string[] | undefined
  /** Duration of the pipeline in seconds. The platform sums it over all retries of the pipeline. */
  readonly duration?: number | undefined
  /** How long the pipeline waited before it started, in seconds. */
  readonly queuedDuration?: number | undefined
  readonly protectedRef?: boolean | undefined
  readonly url?: string | undefined
  readonly user?: Person | undefined
  readonly commit?: { readonly id?: string | undefined; readonly message?: string | undefined } | undefined
  readonly committedAt?: Millis | undefined
  readonly mergeRequest?: MergeRequest | undefined
  /** Labels of the pipeline's merge request. Only labels that the operator's attribute rules use are stored. */
  readonly labels?: readonly string[] | undefined
  readonly sourcePipeline?: SourcePipeline | undefined
  readonly rootPipelineId?: number | undefined
  /** True if this source lists the pipeline's bridges, so that they need not be requested over REST. */
  readonly bridgesAreListed?: boolean | undefined
  /** The test coverage of the pipeline, percent. */
  readonly coverage?: number | undefined
  /** Why the pipeline's configuration is invalid. */
  readonly yamlErrors?: string | undefined
  /**
   * True if the pipeline was started with the debug variable that makes every job log print its variables. No line of such logs is exported or shown.
   */
  readonly isDebugTraced?: true | undefined
  /** The pipeline variables that the operator's attribute rules name, redacted. */
  readonly variables?: Readonly<Record<string, string>> | undefined
  /** A validated W3C traceparent that the pipeline was started with. It is read only if `PIPESPAN_TRACEPARENT=true`. */
  readonly traceparent?: string | undefined
}

export interface PipelineTimes {
  readonly createdAt?: Millis | undefined
  readonly finishedAt?: Millis | undefined
  /** When the pipeline was last updated. Only REST reports it. */
  readonly updatedAt?: Millis | undefined
}

export interface ObservedPipeline {
  readonly facts: PipelineFacts
  readonly times: PipelineTimes
}

export interface ProjectFacts {
  readonly id: number
  readonly name?: string | undefined
  /** Full path of the project, such as `group/sub/project`. */
  readonly path?: string | undefined
  readonly webUrl?: string | undefined
  readonly defaultBranch?: string | undefined
}

export interface Observation {
  readonly key: RunKey
  /** The source of the observation. If two observations have the same second, their sources decide which of them is newer. */
  readonly origin: 'webhook' | 'rest'
  readonly project: ProjectFacts
  /** The kind of a merge request pipeline: `detached`, `merged_result` or `merge_train`. */
  readonly mergeRequestEvent?: string | undefined
  /** The pipeline's facts and times. They are absent in a job event. */
  readonly pipeline?: ObservedPipeline | undefined
  readonly jobs: readonly ObservedJob[]
}
