// The ports of the pages: what they need from the rest of the daemon. `src/daemon` provides it.
import type { ExportedSpan, LegacyName } from './layout/attributes.ts'
import type { ExportQueueStatus, TriedNow } from './exports/columns.ts'
import type { Filling } from '../lib/slot.ts'
import type { Flow } from './overview/flow.ts'
import type { LastHour } from './overview/last-hour.ts'
import type { ConfigStatus, Setup } from './sources/setup-shape.ts'
import type { Chunk } from '../model/chunk.ts'
import type { Quarantine } from '../core/store/ports/quarantine.ts'
import type { Counters } from '../core/store/ports/store.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Reads } from '../core/store/ports/reads.ts'
import type { Scope } from '../core/store/ports/scope.ts'
import type { RunKey } from '../model/observation.ts'
import type { ShownKind } from '../model/event.ts'
import type { Signal } from '../core/store/ports/outbox.ts'
import type { Secret } from '../lib/secret.ts'
import type { PlatformNow } from './pipelines/run-card.ts'
import type { PeopleOptions } from './access/person.ts'
import type { TimelinePart } from './timeline/timeline-part.ts'
import type { Usuals } from './pipelines/usual.ts'

/** The data that pages read and the actions they perform, limited to the projects that the user may see. */
export interface PagesSources extends Reads {
  readonly bounds: Scope['bounds']
  /** The deliveries that could not be decoded. Without `list`, they are counted but not shown, because their project is unknown. */
  readonly quarantine: Pick<Quarantine, 'count'> & Partial<Pick<Quarantine, 'list'>>
  readonly counters: Pick<Counters, 'all'>
  readonly queues: () => Promise<readonly ExportQueueStatus[]>
  /** Returns this process's counters since its start. */
  readonly flow: () => Flow
  /** Returns the decoded content of a message, with names and attributes; undefined if the message is damaged. */
  readonly contentsOf: (
    signal: Signal,
    body: Uint8Array,
  ) => readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[] | undefined
  /** Returns the spans exported for these chunks. */
  readonly exported: (chunks: readonly Chunk[]) => readonly ExportedSpan[]
  readonly legacyName: LegacyName
  /** Whether this root pipeline's trace has this ID (32 lower-case hex digits). */
  readonly isTraceOf: (traceId: string, root: RunKey) => boolean
  /** Whether the span of the chunk's pipeline, or of one of its jobs, has this ID (16 lower-case hex digits). */
  readonly hasSpan: (chunk: Chunk, spanId: string) => boolean
  /**
   * Returns who can fix a failure with this reason. `user`: the authors of the pipeline. `platform`: the operators of the platform and its runners.
   */
  readonly failureDomain: (reason: string | undefined) => FailureDomain
  readonly setup: () => Setup
  /** Returns the status of configuration reloads; undefined if the configuration is never reloaded. */
  readonly configStatus?: (() => ConfigStatus) | undefined
  /** Retries the pending exports of one destination, or of all destinations, immediately. */
  readonly tryNow: (destination?: string) => Promise<TriedNow>
  /** Called after an operator's action. If undefined, the action is only logged, by the code that performs it. */
  readonly onAction?: ((action: OperatorAction) => Promise<void>) | undefined
  /** Called when dead letters have become pending again. */
  readonly onRetried: () => void
  /**
   * The number of ms by which an instance's clock is ahead of the daemon's clock, according to the instance's API responses; undefined if unknown.
   */
  readonly clockOffset: (instance: string) => number | undefined
  readonly now: () => Millis
  readonly log: Log
}

/** An operator's action on the pages or through the JSON API. */
export interface OperatorAction {
  /** The user who performed the action; `admin token` or `this machine` if no proxy identifies the person. */
  readonly user: string
  readonly role: 'viewer' | 'operator'
  readonly action: 'retry' | 'drop' | 'try_now'
  /** What the action applied to: the IDs of dead letters, separated by commas; a destination; or `all`. */
  readonly target: string
  /** The number of exports changed by the action. */
  readonly count: number
}

/** The data sources of the pages, plus values that are cached or sampled from them. */
export interface PagesParts extends PagesSources {
  /** The items that features add to the timeline. */
  readonly timeline: readonly TimelinePart[]
  /** The parts that features add to the slots of pages. */
  readonly fillings: readonly Filling[]
  readonly usuals: Usuals
  readonly clock: PlatformNow
  readonly hour: { readonly read: () => Promise<LastHour> }
  /** Returns the values of the grouping attribute (PIPESPAN_PAGES_GROUP_BY), each with the known projects that have it. */
  readonly ownValues: () => Promise<OwnValues>
}

/** The values of the grouping attribute (PIPESPAN_PAGES_GROUP_BY) among the known projects. */
export interface OwnValues {
  /** The name of the grouping attribute; undefined without PIPESPAN_PAGES_GROUP_BY. */
  readonly name: string | undefined
  /** The full paths of the projects by value of the grouping attribute, sorted by value. */
  readonly projects: ReadonlyMap<string, ReadonlySet<string>>
}

export type FailureDomain = 'user' | 'platform' | 'unknown'

/** The repositories that store the state of discovery: cursors, hooks, budgets. */
export type DiscoveryRepositories = Pick<
  Reads['repositories'],
  'polledProjects' | 'ownPipelines' | 'sweeps' | 'hooks' | 'budgets' | 'refusedEndpoints'
>

export interface PagesSettings {
  /** Returns the admin token. Called on every request, because the token may change while the daemon runs. */
  readonly adminToken: () => Secret | undefined
  /** The URL template for a trace in the backend, with `{traceId}` in place of the ID. */
  readonly traceLink?: string | undefined
  /** The currency of prices. */
  readonly costUnit?: string | undefined
  /**
   * The grouping attribute (PIPESPAN_PAGES_GROUP_BY), by which statistics are grouped and pages are filtered. `valueOf` returns its value for a
   * project (full path) and a branch class.
   */
  readonly groupBy?:
    { readonly name: string; readonly valueOf: (project: string, branch: string) => string | undefined } | undefined
  /** Whether a price table is configured. */
  readonly hasPrices?: boolean | undefined
  /** Returns the event kinds that features add to the timeline only if an admin token is set. */
  readonly secretKinds?: (() => readonly ShownKind[]) | undefined
  /** Which people may open the pages after logging in at a proxy. If undefined, no proxy is trusted. */
  readonly people?: PeopleOptions | undefined
}
