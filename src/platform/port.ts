// Declares the port to the platform: the calls that other rooms make and their answers, in the model's words. The files in `port/` declare what only
// some rooms need. This room implements the port; `daemon/`, and `commands/platform.ts` for commands, hand out the implementation. Other rooms import nothing
// else of this room, so that a second platform would only be a second implementation of these declarations.
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
 * Every call rejects with a PlatformError or, if its signal is aborted, with the signal's reason. A list fetches its next page when the reader
 * asks for it.
 */
export interface PlatformClient {
  /** Normalised base URL. It is part of the key of every run that this client observes. */
  readonly instance: string
  /** The pipelines that the token's user has triggered, in all projects, newest first (keyset). */
  ownPipelines(
    query: {
      readonly source?: string | undefined
      readonly createdAfter?: Millis | undefined
      readonly createdBefore?: Millis | undefined
    },
    options: ListOptions,
  ): Pages<ListedPipeline>
  /**
   * A project's pipelines that changed at or after `updatedAfter`, oldest change first. Child pipelines are only listed if `source` asks for
   * them.
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
  /** Prepares requests about one pipeline. The caller must know only its project and its ID. */
  about(pipeline: AskedPipeline): PipelineAnswers
  project(project: ResourceId, options: CallOptions): Promise<PlatformProject>
  /**
   * Projects that are not archived. `all`: those that the token can see; `maintained`: those that its user maintains; both are sorted by ID.
   * `member`: those that its user is a member of, directly or through a group; `group`: those of a group and its subgroups; both are sorted by
   * activity, most recent first.
   */
  projects(
    of: 'all' | 'maintained' | 'member' | { readonly group: ResourceId },
    query: { readonly activeAfter?: Millis | undefined },
    options: ListOptions,
  ): Pages<PlatformProject>
  /** Whether the token's user is an administrator; false if the answer does not say so. */
  isAdministrator(options: CallOptions): Promise<boolean>
  /** Whether the token's user owns the group, which shows in the answer: only owners see the group's runner token. */
  ownsGroup(group: ResourceId, options: CallOptions): Promise<boolean>
  hooks(owner: HookOwner, options: CallOptions): Promise<Listed<PlatformHook>>
  /** After an error of kind `network`, `timeout` or `unavailable` the hook may exist nevertheless: list the hooks again before you retry. */
  createHook(owner: HookOwner, wish: HookWish, options: CallOptions): Promise<PlatformHook>
  editHook(owner: HookOwner, hookId: number, wish: HookWish, options: CallOptions): Promise<PlatformHook>
  /** Deliveries of the past seven days, newest first. */
  hookDeliveries(owner: HookOwner, hookId: number, options: ListOptions): Pages<HookDelivery>
  /** Audit events of a period of at most 30 days, both ends included, highest ID first (keyset). */
  auditEvents(source: AuditSource, query: AuditQuery, options: ListOptions): Pages<AuditEvent>
  /** Incidents that changed at or after `updatedAfter`, in all projects that the token can see, oldest change first. */
  incidents(query: { readonly updatedAfter: Millis }, options: ListOptions): Pages<ListedIncident>
  /** The commits that are reachable from `to` and not from `from`, newest first. `firstParent`: follows first parents only. */
  commits(
    project: ResourceId,
    query: { readonly from: string; readonly to: string; readonly firstParent?: boolean | undefined },
    options: ListOptions,
  ): Pages<Commit>
  /** Streams a job's log from its beginning. */
  jobLog(project: ResourceId, jobId: number, options: JobLogOptions): Promise<JobLogRead>
  /** The project or group that is named. Rejects with a PlatformError if it does not exist, or the token may not see it. */
  owner(named: NamedOwner, options: CallOptions): Promise<Owner>
  /** Requests to any path of the API, for what features ask of the platform. */
  asking(options: CallOptions): Asking
  /** Aborts all unfinished requests. */
  close(): Promise<void>
}

/** An issue of the type incident. */
export interface ListedIncident {
  readonly instance: string
  readonly project: ProjectFacts
  readonly iid: number
  readonly state: 'opened' | 'closed'
  /** When it changed last. */
  readonly at: Millis
  readonly severity?: string | undefined
  readonly openedAt?: Millis | undefined
  readonly closedAt?: Millis | undefined
}

export type Pages<T> = AsyncIterable<Page<T>>

export interface Page<T> {
  readonly items: readonly T[]
  /** A cursor that continues the list after this page, even after a restart (see `from`). Undefined on the last page. */
  readonly next?: string | undefined
  /** The time on the platform's clock when it served this page. */
  readonly servedAt?: Millis | undefined
  /** Set if reading stops after this page although the list goes on: the minimum number of items that are not read. */
  readonly left?: number | undefined
}

/** Maximum number of items that are read of one list. The platform's largest delivery (25 MB) lists about 40,000 jobs. */
export const maxItems = 50_000

/** Priorities of requests, most urgent first: enrichment of finished runs, requests of pages, polling, backfill, job logs and reports. */
export const priorities = ['enrich', 'page', 'poll', 'backfill', 'inside'] as const
export type Priority = (typeof priorities)[number]

export interface CallOptions {
  readonly priority: Priority
  /** Aborts the call, whether it waits or sends; the call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called when the budget has granted the request. A timeout for the answer must start now and not earlier. */
  readonly onSend?: (() => void) | undefined
}

export interface ListOptions extends CallOptions {
  /** The `next` of an earlier page: the list continues there, with its original query. */
  readonly from?: string | undefined
  /** Maximum number of items that are read; default `maxItems`. */
  readonly max?: number | undefined
}

export interface JobLogOptions extends CallOptions {
  /** Maximum number of bytes that are read of the log. */
  readonly maxBytes: number
  /** Called with each window of bytes, which is only valid during the call. */
  readonly onWindow: (window: Uint8Array) => void
}

export interface JobLogRead {
  /** Number of bytes that were passed to `onWindow`. */
  readonly bytes: number
  /** False if the log is longer than `maxBytes`. */
  readonly isWhole: boolean
}

/** Identifies a project or a group: its number, or its full path without URL encoding (`group/sub/project`). */
export type ResourceId = number | string

/** A pipeline as an item of a list: enough to see whether it has changed. It is exported only if the platform does not answer for the pipeline itself. */
export interface ListedPipeline {
  readonly id: number
  readonly status: string
  readonly createdAt?: Millis | undefined
  readonly finishedAt?: Millis | undefined
  readonly updatedAt?: Millis | undefined
  readonly facts?: PipelineFacts | undefined
  /** Only in the cross-project list, and only if the merge request is visible. */
  readonly mergeRequest?: MergeRequest | undefined
  /** Path and URL, taken from the pipeline's own URL. Only the cross-project list has the other facts. */
  readonly project: ProjectFacts
}

export interface AskedPipeline {
  readonly pipelineId: number
  readonly project: ProjectFacts
  /** Taken from the list, because no other answer contains the whole merge request. */
  readonly mergeRequest?: MergeRequest | undefined
}

/** Requests about one pipeline: each part is one request or one list. */
export interface PipelineAnswers {
  /**
   * `jobs`: the jobs of all attempts, without bridges. `traceparent`: the valid W3C traceparent among the variables. `variables`: those that rules for
   * attributes name. No other variable is read.
   * Resolves to false if there are more jobs than are read. For `jobs` and `bridges`, a PlatformError says which scope or role the token lacks.
   */
  ask(part: 'pipeline' | 'jobs' | 'bridges' | 'traceparent' | 'variables', options: CallOptions): Promise<boolean>
  /** Asks for the labels of the pipeline's merge request that rules for attributes want. They belong to the pipeline, so `pipeline` must be asked, too. */
  askLabels(of: MergeRequest, options: CallOptions): Promise<void>
  /** Everything that the platform has answered so far. */
  observation(): Observation
}

/** A project with the facts that polling needs. */
export interface PlatformProject extends ProjectFacts {
  /** The platform updates it on actions of users, at most once an hour, and not on schedules or retries. */
  readonly lastActivityAt?: Millis | undefined
  readonly archived: boolean
}

/** A hook belongs to a project or to a group. */
export type HookOwner = { readonly project: ResourceId } | { readonly group: ResourceId }

/**
 * The wanted settings of a hook. An undefined setting keeps its value; in a new hook it has the platform's default. A new hook has only these
 * events.
 */
export interface HookWish {
  /** Undefined keeps the URL of an existing hook. */
  readonly url?: string | undefined
  readonly pipelineEvents: boolean
  readonly jobEvents: boolean
  /** Further flags to set, see `PlatformHook.events`. */
  readonly events?: readonly string[] | undefined
  /** Secrets cannot be read back: the platform only says whether one is set. */
  readonly token?: Secret | undefined
  /** `whsec_…`. A platform that does not sign ignores it. */
  readonly signingToken?: Secret | undefined
}

export interface PlatformHook {
  readonly id: number
  /** Contains `{name}` in place of each masked part. */
  readonly url: string
  /** Whether the hook's URL, with its masked parts, may be this URL. False for a URL without masked parts. */
  mayBeAt(url: string): boolean
  readonly pipelineEvents: boolean
  readonly jobEvents: boolean
  /** The hook's other flags, by name. An older platform has fewer. */
  readonly events: Readonly<Record<string, boolean>>
  /** Undefined on older platforms. */
  readonly tokenPresent?: boolean | undefined
  /** Undefined on platforms that do not sign. */
  readonly signingTokenPresent?: boolean | undefined
  readonly alertStatus?: string | undefined
  readonly disabledUntil?: Millis | undefined
  /** True if the hook has a custom template, which changes the body of its deliveries. */
  readonly hasTemplate: boolean
}

/** A stored delivery of a hook. */
export interface HookDelivery {
  readonly id: number
  /** The platform redacts the secret among them. */
  readonly headers: Headers
  /** Encodes the payload without its variables. Undefined if no payload was recorded. */
  readonly body?: (() => Uint8Array) | undefined
  /** True if the payload was too large to be recorded. */
  readonly isOversize: boolean
  /** A status code, or a text if there was no answer (`internal error`). */
  readonly responseStatus?: string | undefined
  /** Duration of the delivery, s. */
  readonly duration?: number | undefined
}

/** Where audit events are read: the whole instance, one group with its projects, or one project. */
export type AuditSource = 'instance' | { readonly group: ResourceId } | { readonly project: ResourceId }

export interface AuditQuery {
  readonly createdAfter: Millis
  readonly createdBefore?: Millis | undefined
  /** Whether the addresses of users are read, too. Default: no. */
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

/** Logs an error of the platform once and not in every round, and logs when the error is over. */
export interface ErrorThrottle {
  /** Answers `stop` if other requests would fail too, so that the caller sends none in this round. */
  failed(subject: string, error: PlatformError): 'go-on' | 'stop'
  answered(subject: string): void
  /** The current error that affects the whole platform, if there is one. */
  readonly ofPlatform: () => PlatformError | undefined
}
