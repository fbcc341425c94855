// Declares the port to the platform: the calls that other folders make and their results, in the model's terms. Types that only some folders need are
// declared in the files in `port/`. This folder implements the port. `daemon/` creates the implementation for the daemon, and `commands/platform.ts`
// does so for commands. Other folders import nothing else from this folder, so that supporting a second platform would only require a second
// implementation of these declarations.
import type { PlatformError } from './port/error.ts'
import type { Headers } from './port/webhook.ts'
import type { Asking, Listed } from './port/asking.ts'
import type { NamedOwner } from './port/asking.ts'
import type { Millis } from '../model/instant.ts'
import type { MergeRequest, Observation, PipelineFacts, ProjectFacts } from '../model/observation.ts'
import type { Owner } from '../model/inventory.ts'
import type { PlatformEvent } from '../model/event.ts'
import type { Secret } from '../lib/secret.ts'

export type { Listed } from './port/asking.ts'
export { PlatformError, type PlatformErrorFacts, type PlatformErrorKind } from './port/error.ts'

/**
 * The client for one platform. Every call rejects with a PlatformError or, if its signal is aborted, with the signal's reason. A list fetches its
 * next page only when its consumer is ready for it.
 */
export interface PlatformClient {
  /** The platform's base URL, normalised. It is part of the key of every run that this client observes. */
  readonly instance: string
  /** The pipelines that the token's user triggered in any project, newest first (keyset pagination). */
  ownPipelines(
    query: {
      readonly source?: string | undefined
      readonly createdAfter?: Millis | undefined
      readonly createdBefore?: Millis | undefined
    },
    options: ListOptions,
  ): Pages<ListedPipeline>
  /**
   * A project's pipelines that changed at or after `updatedAfter`, oldest change first. Child pipelines are listed only if `source` requests them.
   */
  projectPipelines(
    project: ResourceId,
    query: {
      readonly updatedAfter?: Millis | undefined
      readonly updatedBefore?: Millis | undefined
      readonly source?: string | undefined
      readonly scope?: 'running' | 'pending' | 'finished' | undefined
    },
    options: ListOptions,
  ): Pages<ListedPipeline>
  /** Prepares requests about one pipeline. The caller needs only the pipeline's project and ID. */
  about(pipeline: AskedPipeline): PipelineAnswers
  project(project: ResourceId, options: CallOptions): Promise<PlatformProject>
  /**
   * Lists projects that are not archived. `all`: those that the token can read; `maintained`: those that the token's user maintains; both are sorted
   * by ID. `member`: those that the token's user is a member of, directly or through a group; `group`: those in a group and its subgroups; both are
   * sorted by activity, most recent first.
   */
  projects(
    of: 'all' | 'maintained' | 'member' | { readonly group: ResourceId },
    query: { readonly activeAfter?: Millis | undefined },
    options: ListOptions,
  ): Pages<PlatformProject>
  /** Whether the token's user is an administrator; false if the response does not show it. */
  isAdministrator(options: CallOptions): Promise<boolean>
  /** Whether the token's user owns the group. The response reveals this, because only owners can read the group's runner token. */
  ownsGroup(group: ResourceId, options: CallOptions): Promise<boolean>
  hooks(owner: HookOwner, options: CallOptions): Promise<Listed<PlatformHook>>
  /**
   * Creates a hook. After an error of kind `network`, `timeout` or `unavailable`, the hook may have been created nevertheless, so list the hooks
   * again before retrying.
   */
  createHook(owner: HookOwner, wish: HookWish, options: CallOptions): Promise<PlatformHook>
  editHook(owner: HookOwner, hookId: number, wish: HookWish, options: CallOptions): Promise<PlatformHook>
  /** Lists a hook's deliveries of the past seven days, newest first. */
  hookDeliveries(owner: HookOwner, hookId: number, options: ListOptions): Pages<HookDelivery>
  /** Lists the audit events of a period of at most 30 days, both ends included, highest ID first (keyset pagination). */
  auditEvents(source: AuditSource, query: AuditQuery, options: ListOptions): Pages<AuditEvent>
  /** Lists incidents that changed at or after `updatedAfter`, in all projects that the token can read, oldest change first. */
  incidents(query: { readonly updatedAfter: Millis }, options: ListOptions): Pages<ListedIncident>
  /** Lists commits that are reachable from `to` but not from `from`, newest first. `firstParent`: follows first parents only. */
  commits(
    project: ResourceId,
    query: { readonly from: string; readonly to: string; readonly firstParent?: boolean | undefined },
    options: ListOptions,
  ): Pages<Commit>
  /** Streams a job's log from its beginning. */
  jobLog(project: ResourceId, jobId: number, options: JobLogOptions): Promise<JobLogRead>
  /** Finds a project or group by its name. Rejects with a PlatformError if it does not exist or the token is not allowed to read it. */
  owner(named: NamedOwner, options: CallOptions): Promise<Owner>
  /** Prepares requests to any path of the API, for platform data that features need. */
  asking(options: CallOptions): Asking
  /** Aborts all unfinished requests. */
  close(): Promise<void>
}

/** An incident, which is an issue of type `incident`. */
export interface ListedIncident {
  readonly instance: string
  readonly project: ProjectFacts
  readonly iid: number
  readonly state: 'opened' | 'closed'
  /** When the incident last changed. */
  readonly at: Millis
  readonly severity?: string | undefined
  readonly openedAt?: Millis | undefined
  readonly closedAt?: Millis | undefined
}

export type Pages<T> = AsyncIterable<Page<T>>

export interface Page<T> {
  readonly items: readonly T[]
  /** A cursor for continuing the list after this page, even after a restart (see `from`). Undefined on the last page. */
  readonly next?: string | undefined
  /** The time on the platform's clock when it served this page. */
  readonly servedAt?: Millis | undefined
  /** The minimum number of items that remain unread; set only if reading stops after this page although the list continues. */
  readonly left?: number | undefined
}

/** Maximum number of items that are read from one list. The platform's largest delivery (25 MB) lists about 40,000 jobs. */
export const maxItems = 50_000

/** Request priorities, most urgent first: enrichment of finished runs, requests from Pipespan's pages, polling, backfill, job logs and reports. */
export const priorities = ['enrich', 'page', 'poll', 'backfill', 'inside'] as const
export type Priority = (typeof priorities)[number]

export interface CallOptions {
  readonly priority: Priority
  /** A signal that aborts the call, whether it is still queued or already sent. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called when the budget has granted the request. A timeout for the response must start at this time, not earlier. */
  readonly onSend?: (() => void) | undefined
}

export interface ListOptions extends CallOptions {
  /** The `next` cursor of an earlier page. The list continues there, with its original query. */
  readonly from?: string | undefined
  /** Maximum number of items that are read from the list; default `maxItems`. */
  readonly max?: number | undefined
}

export interface JobLogOptions extends CallOptions {
  /** Maximum number of bytes that are read from the log. */
  readonly maxBytes: number
  /** Called with each window of the log's bytes. The window is only valid during the call. */
  readonly onWindow: (window: Uint8Array) => void
}

export interface JobLogRead {
  /** Number of log bytes that were passed to `onWindow`. */
  readonly bytes: number
  /** Whether the log was read to its end. It is not if it is longer than `maxBytes`. */
  readonly isWhole: boolean
}

/** Identifies a project or group: its number, or its full path without URL encoding (`group/sub/project`). */
export type ResourceId = number | string

/**
 * A pipeline as a list item, with enough facts to detect whether it has changed. These facts are exported only if the platform does not respond to a
 * request for the pipeline itself.
 */
export interface ListedPipeline {
  readonly id: number
  readonly status: string
  readonly createdAt?: Millis | undefined
  readonly finishedAt?: Millis | undefined
  readonly updatedAt?: Millis | undefined
  readonly facts?: PipelineFacts | undefined
  /** The pipeline's merge request. Only the cross-project list contains it, and only if the token may read it. */
  readonly mergeRequest?: MergeRequest | undefined
  /** The pipeline's project. Path and URL are taken from the pipeline's own URL; only the cross-project list contains the other facts. */
  readonly project: ProjectFacts
}

export interface AskedPipeline {
  readonly pipelineId: number
  readonly project: ProjectFacts
  /** The pipeline's merge request. It is taken from the list, because no other response contains the whole merge request. */
  readonly mergeRequest?: MergeRequest | undefined
}

/** Requests the facts about one pipeline in parts. Each part takes one request, or the requests for one list. */
export interface PipelineAnswers {
  /**
   * Requests one part of a pipeline's facts. `jobs`: the jobs of all attempts, without bridges. `traceparent`: the valid W3C traceparent among the
   * variables. `variables`: the variables that the operator's attribute rules name; no other variable is read. Resolves to false if the pipeline has
   * more jobs than the maximum that is read. For `jobs` and `bridges`, a PlatformError names the scope or role that the token lacks.
   */
  ask(part: 'pipeline' | 'jobs' | 'bridges' | 'traceparent' | 'variables', options: CallOptions): Promise<boolean>
  /**
   * Requests the labels of the pipeline's merge request, for the operator's attribute rules. The labels become facts of the pipeline, so the part
   * `pipeline` must be requested too.
   */
  askLabels(of: MergeRequest, options: CallOptions): Promise<void>
  /** Everything that the platform has returned about the pipeline so far. */
  observation(): Observation
}

/** A project with the facts that polling needs. */
export interface PlatformProject extends ProjectFacts {
  /**
   * When the project was last active. The platform updates this time at most once an hour, when a user does something, but not for schedules or
   * retries.
   */
  readonly lastActivityAt?: Millis | undefined
  readonly archived: boolean
}

/** The project or group that a hook belongs to. */
export type HookOwner = { readonly project: ResourceId } | { readonly group: ResourceId }

/**
 * The desired settings of a hook. If a setting is undefined, an existing hook keeps its value, and a new hook gets the platform's default. A new hook
 * has only the events that are set here.
 */
export interface HookWish {
  /** The URL of the hook. If undefined, an existing hook keeps its URL. */
  readonly url?: string | undefined
  readonly pipelineEvents: boolean
  readonly jobEvents: boolean
  /** Additional events to enable, see `PlatformHook.events`. */
  readonly events?: readonly string[] | undefined
  /** The secret token of the hook. It cannot be read back: the platform only reports whether one is set. */
  readonly token?: Secret | undefined
  /** The signing token, `whsec_…`. A platform that does not sign deliveries ignores it. */
  readonly signingToken?: Secret | undefined
}

export interface PlatformHook {
  readonly id: number
  /** The URL of the hook, with each masked part replaced by `{name}`. */
  readonly url: string
  /** Whether the hook's URL could be `url`, given that parts of the hook's URL are masked. Returns false if no part is masked. */
  mayBeAt(url: string): boolean
  readonly pipelineEvents: boolean
  readonly jobEvents: boolean
  /** The hook's event flags by name. Older platforms have fewer flags. */
  readonly events: Readonly<Record<string, boolean>>
  /** Whether the hook has a secret token; undefined on older platforms. */
  readonly tokenPresent?: boolean | undefined
  /** Whether the hook has a signing token; undefined on platforms that do not sign deliveries. */
  readonly signingTokenPresent?: boolean | undefined
  readonly alertStatus?: string | undefined
  readonly disabledUntil?: Millis | undefined
  /** True if the hook has a custom template, which changes the body of its deliveries. */
  readonly hasTemplate: boolean
}

/** A hook delivery that the platform has stored. */
export interface HookDelivery {
  readonly id: number
  /** The headers of the delivery. The platform has redacted the secret in them. */
  readonly headers: Headers
  /** Encodes the payload without its variables. Undefined if no payload was recorded. */
  readonly body?: (() => Uint8Array) | undefined
  /** True if the payload was too large for the platform to record it. */
  readonly isOversize: boolean
  /** The status code of the receiver's response. If there was no response, the platform's description of the error, such as `internal error`. */
  readonly responseStatus?: string | undefined
  /** The duration of the delivery, s. */
  readonly duration?: number | undefined
}

/** The source of audit events: the whole instance, one group with its projects, or one project. */
export type AuditSource = 'instance' | { readonly group: ResourceId } | { readonly project: ResourceId }

export interface AuditQuery {
  readonly createdAfter: Millis
  readonly createdBefore?: Millis | undefined
  /** Whether the IP addresses of users are read too. Default: no. */
  readonly withAddress?: boolean | undefined
}

export interface AuditEvent {
  readonly id: number
  readonly event: PlatformEvent & { readonly at: Millis }
}

export interface Commit {
  readonly authoredAt?: Millis | undefined
  readonly committedAt?: Millis | undefined
}

/** Logs a platform error once instead of in every round, and logs when the error is over. */
export interface ErrorThrottle {
  /** Records a failed request. Returns `stop` if other requests would fail too, so that the caller sends no more in this round. */
  failed(subject: string, error: PlatformError): 'go-on' | 'stop'
  answered(subject: string): void
  /** The current error that affects the whole platform, if there is one. */
  readonly ofPlatform: () => PlatformError | undefined
}
