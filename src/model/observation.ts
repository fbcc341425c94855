// An observation: what one source saw of a pipeline, in normal form, without wire words and vendor words.
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

/** The facts of a job or a bridge besides its times. Undefined means: this source did not say. */
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
  /** Bytes by type, as the platform names the types; `logArtifact` is the job's log. */
  readonly artifactSizes?: Readonly<Record<string, number>> | undefined
  /** The tags that it asks of its runner. */
  readonly tags?: readonly string[] | undefined
  readonly environment?: Environment | undefined
  /** Percent. */
  readonly coverage?: number | undefined
  readonly url?: string | undefined
  /** A bridge's child pipeline. */
  readonly downstream?: { readonly pipelineId: number; readonly projectId?: number | undefined } | undefined
}

/** The type under which the platform lists a job's log among its artifacts. */
export const logArtifact = 'trace'
/** The type under which it lists the archive of a job's other files. */
export const archiveArtifact = 'archive'
/** The type under which it lists a job's JUnit reports. */
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
  /** The bridge (or the job, for a trigger by job token) that started it, where the source names it. */
  readonly jobId?: number | undefined
  /** True where the platform is new enough to list the parent's bridges in its own payload. */
  readonly bridgesAreListed?: boolean | undefined
  /** True where the platform is as new and names no bridge: a job started it with its token, and jobs are listed too. */
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
  /** Its source branch is another project's. */
  readonly fork?: boolean | undefined
  /** The project that it is to be merged into, of one from a fork. */
  readonly targetProjectId?: number | undefined
}

/** The facts of the pipeline besides its times. Undefined means: this source did not say. */
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
  readonly sourcePipeline?: SourcePipeline | undefined
  readonly rootPipelineId?: number | undefined
  /** True where the source lists the pipeline's own bridges too: then nobody need be asked for them. */
  readonly bridgesAreListed?: boolean | undefined
  /** Percent. */
  readonly coverage?: number | undefined
  /** Why no job could be made of the pipeline's configuration. */
  readonly yamlErrors?: string | undefined
  /** A validated W3C traceparent the pipeline was started with (only under `PIPESPAN_TRACEPARENT=true`). */
  readonly traceparent?: string | undefined
}

export interface PipelineTimes {
  readonly createdAt?: Millis | undefined
  readonly finishedAt?: Millis | undefined
  /** REST only. */
  readonly updatedAt?: Millis | undefined
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
  /** Decides ties between observations of the same second. An event of a job has jobs only, and no pipeline. */
  readonly origin: 'webhook' | 'rest'
  readonly project: ProjectFacts
  readonly pipeline?: { readonly facts: PipelineFacts; readonly times: PipelineTimes } | undefined
  readonly jobs: readonly ObservedJob[]
}
