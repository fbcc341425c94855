// What the pages need from the rest of the daemon. `src/daemon` passes it in.
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

/** What pages read and do, limited to the projects that the reader may see. */
export interface PagesSources extends Reads {
  readonly bounds: Scope['bounds']
  /** Without `list`, deliveries that could not be decoded are not shown, because their project is unknown. */
  readonly quarantine: Pick<Quarantine, 'count'> & Partial<Pick<Quarantine, 'list'>>
  readonly counters: Pick<Counters, 'all'>
  readonly queues: () => Promise<readonly ExportQueueStatus[]>
  /** The counts of this process since its start. */
  readonly flow: () => Flow
  /** The content of a message: names and attributes; undefined if the message is damaged. */
  readonly contentsOf: (
    signal: Signal,
    body: Uint8Array,
  ) => readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[] | undefined
  /** The spans that are exported for these chunks. */
  readonly exported: (chunks: readonly Chunk[]) => readonly ExportedSpan[]
  readonly legacyName: LegacyName
  /** Whether the trace of this root pipeline has this id (32 lower-case hex digits). */
  readonly isTraceOf: (traceId: string, root: RunKey) => boolean
  /** Whether this is the id (16 lower-case hex digits) of the span of the chunk's pipeline, or of one of its jobs. */
  readonly hasSpan: (chunk: Chunk, spanId: string) => boolean
  /** Who can fix a failure of this reason: `user`, the authors of the pipeline; `platform`, the operators of the platform and its runners. */
  readonly failureDomain: (reason: string | undefined) => FailureDomain
  readonly setup: () => Setup
  /** Undefined: nothing reloads the configuration. */
  readonly configStatus?: (() => ConfigStatus) | undefined
  /** Retries at once what is pending for one destination, or for all: see the export room. */
  readonly tryNow: (destination?: string) => Promise<TriedNow>
  /** Called after an operator's action. Undefined: the action is only logged, by the code that performs it. */
  readonly onAction?: ((action: OperatorAction) => Promise<void>) | undefined
  /** Called when dead letters have become pending again. */
  readonly onRetried: () => void
  /** How far the clock of an instance is ahead of ours, ms, according to the answers of its API; undefined if unknown. */
  readonly clockOffset: (instance: string) => number | undefined
  readonly now: () => Millis
  readonly log: Log
}

/** An action of an operator on the pages or through the JSON API. */
export interface OperatorAction {
  /** Who did it; `admin token` or `this machine` if no proxy names the person. */
  readonly user: string
  readonly role: 'viewer' | 'operator'
  readonly action: 'retry' | 'drop' | 'try_now'
  /** Ids of dead letters, separated by commas; or a destination; or `all`. */
  readonly target: string
  /** How many exports it changed. */
  readonly count: number
}

/** The sources, with values that are cached or sampled from them. */
export interface PagesParts extends PagesSources {
  /** What features add to the timeline. */
  readonly timeline: readonly TimelinePart[]
  /** What features add to the slots of pages. */
  readonly fillings: readonly Filling[]
  readonly usuals: Usuals
  readonly clock: PlatformNow
  readonly hour: { readonly read: () => Promise<LastHour> }
  /** Which known projects have which value of the operator's attribute. */
  readonly ownValues: () => Promise<OwnValues>
}

/** The values of the operator's attribute (PIPESPAN_PAGES_GROUP_BY) that known projects have. */
export interface OwnValues {
  /** The name of the attribute; undefined without PIPESPAN_PAGES_GROUP_BY. */
  readonly name: string | undefined
  /** Full paths by value, in the order of the values. */
  readonly projects: ReadonlyMap<string, ReadonlySet<string>>
}

export type FailureDomain = 'user' | 'platform' | 'unknown'

/** The state of discovery: cursors, hooks, budgets. */
export type DiscoveryRepositories = Pick<
  Reads['repositories'],
  'polledProjects' | 'ownPipelines' | 'sweeps' | 'hooks' | 'budgets' | 'refusedEndpoints'
>

export interface PagesSettings {
  /** Called at every request, because the token may change while the daemon runs. */
  readonly adminToken: () => Secret | undefined
  /** A URL with `{traceId}` where the id goes. */
  readonly traceLink?: string | undefined
  /** The unit of prices. */
  readonly costUnit?: string | undefined
  /** The operator's attribute by which figures are grouped and pages are filtered, and its value for a project (full path) and a class of branches. */
  readonly groupBy?:
    { readonly name: string; readonly valueOf: (project: string, branch: string) => string | undefined } | undefined
  /** Whether there is a price table. */
  readonly hasPrices?: boolean | undefined
  /** Kinds of the timeline that features add only if an admin token is set. */
  readonly secretKinds?: (() => readonly ShownKind[]) | undefined
  /** Which people may open the pages after a proxy has logged them in; undefined: no proxy is trusted. */
  readonly people?: PeopleOptions | undefined
}
