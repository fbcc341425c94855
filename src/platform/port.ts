// The port to the platform: the calls that other rooms make, and what they answer, in the model's words; with the files in `port/`, which are for
// some rooms only. This room implements it; `app/`, and `cli/platform.ts` for commands, hand it out. Nothing else of this room is imported elsewhere:
// a second platform would be another implementation of these declarations.
import { Fault } from '../lib/fault.ts'
import type { Headers } from './port/webhook.ts'
import type { Incident } from '../model/incident.ts'
import type { Millis } from '../model/instant.ts'
import type { MergeRequest, Observation, ProjectFacts } from '../model/observation.ts'
import type { PlatformEvent } from '../model/event.ts'
import type { Secret } from '../lib/secret.ts'

/** All calls reject with a PlatformError, or with the reason of an aborted signal. Lists are fetched page by page while they are read. */
export interface PlatformClient {
  /** Normalised base URL, part of the key of all runs observed through this client. */
  readonly instance: string
  /** The pipelines that the token's own user triggered in all projects, the newest first (keyset). */
  ownPipelines(
    query: {
      readonly source?: string | undefined
      readonly createdAfter?: Millis | undefined
      readonly createdBefore?: Millis | undefined
    },
    options: ListOptions,
  ): Pages<ListedPipeline>
  /** A project's pipelines that changed at or after an instant, the longest unchanged first. Children only by their source. */
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
  /** What the platform answers about one pipeline, of which only the project and the id need be known. */
  about(pipeline: AskedPipeline): PipelineAnswers
  project(project: ResourceId, options: CallOptions): Promise<PlatformProject>
  /**
   * Projects that are not archived: all that the token can see, or those that its user maintains, by their ids; or those that its user is a member of, also
   * through a group, or those of a group and its subgroups, the most recently active first.
   */
  projects(
    of: 'all' | 'maintained' | 'member' | { readonly group: ResourceId },
    query: { readonly activeAfter?: Millis | undefined },
    options: ListOptions,
  ): Pages<PlatformProject>
  /** Whether the token is an administrator's; false if the answer does not tell. */
  isAdministrator(options: CallOptions): Promise<boolean>
  /** Whether the token is an owner's: only owners see the group's runner token. */
  ownsGroup(group: ResourceId, options: CallOptions): Promise<boolean>
  hooks(owner: HookOwner, options: CallOptions): Promise<Listed<PlatformHook>>
  /** After an error of `network`, `timeout` or `unavailable` the hook may be there all the same: list them again. */
  createHook(owner: HookOwner, wish: HookWish, options: CallOptions): Promise<PlatformHook>
  editHook(owner: HookOwner, hookId: number, wish: HookWish, options: CallOptions): Promise<PlatformHook>
  /** Deliveries of the past seven days, the newest first. */
  hookDeliveries(owner: HookOwner, hookId: number, options: ListOptions): Pages<HookDelivery>
  /** Audit events within at most 30 days, both ends included, the newest id first (keyset). */
  auditEvents(
    source: AuditSource,
    query: { readonly createdAfter: Millis; readonly createdBefore?: Millis | undefined },
    options: ListOptions,
  ): Pages<AuditEvent>
  /** Incidents of all projects that the token can see that changed at or after an instant, the longest unchanged first. */
  incidents(query: { readonly updatedAfter: Millis }, options: ListOptions): Pages<Incident>
  /** The commits that `to` has and `from` has not, the newest first. `firstParent`: only along first parents. */
  commits(
    project: ResourceId,
    query: { readonly from: string; readonly to: string; readonly firstParent?: boolean | undefined },
    options: ListOptions,
  ): Pages<Commit>
  /** A job's log, from its beginning. */
  jobLog(project: ResourceId, jobId: number, options: JobLogOptions): Promise<JobLogRead>
  /** Ends every request under way. */
  close(): Promise<void>
}

export type Pages<T> = AsyncIterable<Page<T>>

export interface Page<T> {
  readonly items: readonly T[]
  /** Continues the list after this page, even after a restart (see `from`). Undefined: this was the last page. */
  readonly next?: string | undefined
  /** The platform's clock when it served this page. */
  readonly servedAt?: Millis | undefined
  /** The list is cut after this page: so many of its items, at least, are not read. */
  readonly left?: number | undefined
}

/** A list that was read to its end, or to its maximum. */
export interface Listed<T> {
  readonly items: readonly T[]
  /** Items that are not read, at least; 0: the list is whole. */
  readonly left: number
}

/** Items of one list that are read. The platform's largest delivery, of 25 MB, lists some 40,000 jobs. */
export const maxItems = 50_000

/** The most urgent first: enrichment of finished runs, requests of pages, polling, backfill, job logs and reports. */
export const priorities = ['enrich', 'page', 'poll', 'backfill', 'inside'] as const
export type Priority = (typeof priorities)[number]

export interface CallOptions {
  readonly priority: Priority
  /** Ends waiting and sending; the call then rejects with its reason. */
  readonly signal?: AbortSignal | undefined
  /** Called when the budget has granted the request: a deadline for the answer must start here, not before. */
  readonly onSend?: (() => void) | undefined
}

export interface ListOptions extends CallOptions {
  /** A page's `next`: continues the list there, with its original query. */
  readonly from?: string | undefined
  /** Items that are read; by default `maxItems`. */
  readonly max?: number | undefined
}

export interface JobLogOptions extends CallOptions {
  /** How much of the log is read, bytes. */
  readonly maxBytes: number
  /** Called with each window, which is valid during the call only. */
  readonly onWindow: (window: Uint8Array) => void
}

export interface JobLogRead {
  /** Bytes passed to `onWindow`. */
  readonly bytes: number
  /** False if the log is longer than `maxBytes`. */
  readonly isWhole: boolean
}

/** A project or a group: its number, or its full path as people write it (`group/sub/project`). */
export type ResourceId = number | string

/** A pipeline in a list: enough to know whether it is news, but not for an observation. */
export interface ListedPipeline {
  readonly id: number
  readonly status: string
  readonly createdAt?: Millis | undefined
  readonly updatedAt?: Millis | undefined
  /** Cross-project list only, where the merge request is visible. */
  readonly mergeRequest?: MergeRequest | undefined
  /** Its path and address as the pipeline's own address shows them; the rest in the cross-project list only. */
  readonly project: ProjectFacts
}

export interface AskedPipeline {
  readonly pipelineId: number
  readonly project: ProjectFacts
  /** As a list had it; no other answer has it whole. */
  readonly mergeRequest?: MergeRequest | undefined
}

/** One request, or one list, for each part. */
export interface PipelineAnswers {
  /**
   * `jobs`: of all attempts, without bridges. `traceparent`: the valid W3C traceparent among the variables, of which nothing else is read.
   * False: there are more jobs than are read. A PlatformError says what a token lacks for `jobs` and `bridges`.
   */
  ask(part: 'pipeline' | 'jobs' | 'bridges' | 'traceparent', options: CallOptions): Promise<boolean>
  /** All that was answered so far. */
  observation(): Observation
}

/** A project with what polling needs. */
export interface PlatformProject extends ProjectFacts {
  /** Updated by users' actions, at most hourly, and not by schedules or retries. */
  readonly lastActivityAt?: Millis | undefined
  readonly archived: boolean
}

/** A hook belongs to a project or to a group. */
export type HookOwner = { readonly project: ResourceId } | { readonly group: ResourceId }

/** The wanted settings of a hook. Undefined ones keep their value; a new hook has the platform's defaults, and only these events. */
export interface HookWish {
  /** Undefined: an existing hook keeps its URL. */
  readonly url?: string | undefined
  readonly pipelineEvents: boolean
  readonly jobEvents: boolean
  /** Other flags to set, see `PlatformHook.events`. */
  readonly events?: readonly string[] | undefined
  /** Secrets cannot be read back: the platform only says whether there is one. */
  readonly token?: Secret | undefined
  /** `whsec_…`. A platform that does not sign ignores it. */
  readonly signingToken?: Secret | undefined
}

export interface PlatformHook {
  readonly id: number
  /** With `{name}` for each masked part. */
  readonly url: string
  /** Whether the hook has masked parts and may be at this URL. */
  mayBeAt(url: string): boolean
  readonly pipelineEvents: boolean
  readonly jobEvents: boolean
  /** Its other flags, by name. An older platform has fewer. */
  readonly events: Readonly<Record<string, boolean>>
  /** Undefined on older platforms. */
  readonly tokenPresent?: boolean | undefined
  /** Undefined on platforms that do not sign. */
  readonly signingTokenPresent?: boolean | undefined
  readonly alertStatus?: string | undefined
  readonly disabledUntil?: Millis | undefined
  /** It has a custom template, so that its deliveries have another body. */
  readonly hasTemplate: boolean
}

/** A stored delivery of a hook. */
export interface HookDelivery {
  readonly id: number
  /** The secret among them is redacted by the platform. */
  readonly headers: Headers
  /** Encodes the payload, without variables. Undefined: there is none. */
  readonly body?: (() => Uint8Array) | undefined
  /** It was too large to be recorded. */
  readonly isOversize: boolean
  /** A number, or a text if there was no answer (`internal error`). */
  readonly responseStatus?: string | undefined
  /** How long it took, s. */
  readonly duration?: number | undefined
}

/** Audit events of the whole instance, of one group with its projects, or of one project. */
export type AuditSource = 'instance' | { readonly group: ResourceId } | { readonly project: ResourceId }

export interface AuditEvent {
  readonly id: number
  readonly event: PlatformEvent & { readonly at: Millis }
}

export interface Commit {
  readonly authoredAt?: Millis | undefined
  readonly committedAt?: Millis | undefined
}

/** Logs what is wrong with the platform once, not in every round, and logs when it is over. */
export interface ErrorThrottle {
  /** `stop`: other requests would fail too, so none should be sent for now. */
  failed(subject: string, error: PlatformError): 'go-on' | 'stop'
  answered(subject: string): void
  /** What is wrong with the platform as a whole now. */
  readonly ofPlatform: () => PlatformError | undefined
}

/** What went wrong, for code; people read the message. */
export type PlatformErrorKind =
  /** 401, or a token that cannot be sent. */
  | 'unauthorized'
  /** 403: the token's scope or role is insufficient. */
  | 'forbidden'
  /** 404: does not exist, or is not visible to the token. */
  | 'not-found'
  /** 429, again and again. */
  | 'limited'
  /** Any other 4xx. */
  | 'refused'
  /** 5xx. */
  | 'unavailable'
  /** No connection, or one that broke. */
  | 'network'
  | 'timeout'
  /** A stream that trickles, or takes too long in all. */
  | 'slow'
  /** A redirect or a next page leads to another host, which is never followed. */
  | 'foreign-host'
  /** A web page, or a redirect to one, instead of the API. */
  | 'not-the-api'
  /** JSON that is cut short or invalid. */
  | 'broken-answer'
  /** JSON, but not of the documented shape. */
  | 'unexpected-answer'
  | 'too-large'

export interface PlatformErrorFacts {
  readonly kind: PlatformErrorKind
  /** The whole sentence of what is wrong. */
  readonly what: string
  readonly remedy: string
  readonly status?: number | undefined
  /** Method and path below the API's base, without the query. */
  readonly endpoint?: string | undefined
  /** The platform's own words, shortened and without secrets. */
  readonly said?: string | undefined
  /** The machine-readable `error` of the answer's body, e.g. `insufficient_scope`. */
  readonly code?: string | undefined
  /** The API refuses all such requests, or lacks the endpoint. */
  readonly isOfTheApi?: boolean | undefined
  /** The keys of the answer's JSON body. */
  readonly keys?: readonly string[] | undefined
}

/** Never contains a token. */
export class PlatformError extends Fault {
  readonly kind: PlatformErrorKind
  readonly status: number | undefined
  readonly endpoint: string | undefined
  readonly said: string | undefined
  readonly code: string | undefined
  readonly isOfTheApi: boolean
  readonly keys: readonly string[]

  constructor(facts: PlatformErrorFacts) {
    super(facts.what, facts.remedy)
    this.kind = facts.kind
    this.status = facts.status
    this.endpoint = facts.endpoint
    this.said = facts.said
    this.code = facts.code
    this.isOfTheApi = facts.isOfTheApi === true
    this.keys = facts.keys ?? []
  }

  /** True if it is probably temporary, so that a retry makes sense. */
  get passing(): boolean {
    return passing.has(this.kind)
  }
}

const passing: ReadonlySet<PlatformErrorKind> = new Set([
  'limited',
  'unavailable',
  'network',
  'timeout',
  'slow',
  'broken-answer',
])
