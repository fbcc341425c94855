// An observation: what one source reports of a pipeline, in normal form, without names of the wire format or of a vendor.
import type { Millis } from './instant.ts'
import type { Status } from './status.ts'

/** The key of a run: one pipeline of one instance. */
export interface RunKey {
  /** Normalised base URL (see `instance.ts`). */
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

/** The facts of a job or a bridge besides its times. Undefined: not reported by this source. */
export interface JobFacts {
  readonly kind: 'job' | 'bridge'
  readonly status: Status
  readonly name?: string | undefined
  readonly stage?: string | undefined
  /** Seconds, fractional. */
  readonly duration?: number | undefined
  /** Seconds, fractional. */
  readonly queuedDuration?: number | undefined
  readonly manual?: boolean | undefined
  readonly allowFailure?: boolean | undefined
  readonly failureReason?: string | undefined
  readonly when?: string | undefined
  readonly user?: Person | undefined
  readonly runner?: Runner | undefined
  readonly artifacts?: { readonly filename: string; readonly size?: number | undefined } | undefined
  /** Bytes by the platform's type of artifact; `logArtifact` is the job's log. */
  readonly artifactSizes?: Readonly<Record<string, number>> | undefined
  /** The tags that it requires of a runner. */
  readonly tags?: readonly string[] | undefined
  readonly environment?: Environment | undefined
  /** Percent. */
  readonly coverage?: number | undefined
  readonly url?: string | undefined
  /** A bridge's child pipeline. */
  readonly downstream?: { readonly pipelineId: number; readonly projectId?: number | undefined } | undefined
}

/** The platform's types of artifacts: a job's log, the archive of its files, its JUnit reports. */
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

/** Where a child or multi-project pipeline comes from. */
export interface SourcePipeline {
  readonly pipelineId: number
  readonly projectId?: number | undefined
  /** The bridge that started it, or the job that did so with its job token. */
  readonly jobId?: number | undefined
  /** The platform is new enough to list the parent's bridges in the parent's payload. */
  readonly bridgesAreListed?: boolean | undefined
  /** On such a platform, no bridge is named: a job started it with its token. */
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
  /** Its source branch belongs to another project. */
  readonly fork?: boolean | undefined
  /** Only for a merge request from a fork. */
  readonly targetProjectId?: number | undefined
}

/** The facts of the pipeline besides its times. Undefined: not reported by this source. */
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
  /** Seconds; adds up over retries. */
  readonly duration?: number | undefined
  /** Seconds. */
  readonly queuedDuration?: number | undefined
  readonly protectedRef?: boolean | undefined
  readonly url?: string | undefined
  readonly user?: Person | undefined
  readonly commit?: { readonly id?: string | undefined; readonly message?: string | undefined } | undefined
  /** When the commit was committed. */
  readonly committedAt?: Millis | undefined
  readonly mergeRequest?: MergeRequest | undefined
  /** Labels of its merge request, only those that rules for attributes want. */
  readonly labels?: readonly string[] | undefined
  readonly sourcePipeline?: SourcePipeline | undefined
  readonly rootPipelineId?: number | undefined
  /** This source lists the pipeline's bridges, so they need not be requested by REST. */
  readonly bridgesAreListed?: boolean | undefined
  /** Percent. */
  readonly coverage?: number | undefined
  /** Why the pipeline's configuration is invalid. */
  readonly yamlErrors?: string | undefined
  /** It was started with the variable that has all logs of its jobs show their variables, so no line of them is exported or shown. */
  readonly isDebugTraced?: true | undefined
  /** The variables that rules for attributes name, redacted. */
  readonly variables?: Readonly<Record<string, string>> | undefined
  /** A validated W3C traceparent the pipeline was started with (only under `PIPESPAN_TRACEPARENT=true`). */
  readonly traceparent?: string | undefined
}

export interface PipelineTimes {
  readonly createdAt?: Millis | undefined
  readonly finishedAt?: Millis | undefined
  /** REST only. */
  readonly updatedAt?: Millis | undefined
}

export interface ObservedPipeline {
  readonly facts: PipelineFacts
  readonly times: PipelineTimes
}

export interface ProjectFacts {
  readonly id: number
  readonly name?: string | undefined
  /** Full path, `group/sub/project`. */
  readonly path?: string | undefined
  readonly webUrl?: string | undefined
  readonly defaultBranch?: string | undefined
}

export interface Observation {
  readonly key: RunKey
  /** Decides between observations of the same second. */
  readonly origin: 'webhook' | 'rest'
  readonly project: ProjectFacts
  /** The kind of a merge request pipeline: `detached`, `merged_result` or `merge_train`. */
  readonly mergeRequestEvent?: string | undefined
  /** Absent in a job event. */
  readonly pipeline?: ObservedPipeline | undefined
  readonly jobs: readonly ObservedJob[]
}
