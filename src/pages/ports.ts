// What the pages ask of the rest of the daemon. The composition root hands it in; nothing here knows where it comes from.
import type { Outbox, ExportQueue } from '../store/ports/outbox.ts'
import type { Chunk } from '../model/chunk.ts'
import type { Changes } from '../store/ports/changes.ts'
import type { Deployments } from '../store/ports/deployments.ts'
import type { Incidents } from '../store/ports/incidents.ts'
import type { Inbox } from '../store/ports/inbox.ts'
import type { Counters } from '../store/ports/store.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Readable, Repositories } from '../store/ports/repository.ts'
import type { RunKey } from '../model/observation.ts'
import type { Runs } from '../store/ports/runs.ts'
import type { Section } from '../model/inside.ts'
import type { Regression } from '../store/ports/regression-documents.ts'
import type { Secret } from '../lib/secret.ts'
import type { TestMemory } from '../store/ports/test-memory.ts'
import type { Usuals } from './usual.ts'
import type { Views } from '../store/ports/views.ts'

export interface PagesSources {
  readonly views: Views
  readonly runs: Pick<Runs, 'get'>
  readonly outbox: Pick<Outbox, 'deadLetters' | 'deadLetter' | 'retryDead' | 'dropDead'>
  readonly inbox: Pick<Inbox, 'state' | 'listQuarantined' | 'retryQuarantined'>
  readonly tests: Pick<TestMemory, 'figures'>
  readonly deployments: Pick<Deployments, 'list' | 'current'>
  readonly incidents: Pick<Incidents, 'opened' | 'open'>
  readonly changes: Pick<Changes, 'list' | 'states'>
  readonly repositories: Pick<Repositories, 'sessions'> &
    DiscoveryRepositories &
    TokenRepositories &
    ReadOnly<'regressions' | 'inventoryStates' | 'auditCursors' | 'auditBackfills'>
  readonly counters: Pick<Counters, 'all'>
  readonly queues: () => Promise<readonly ExportQueueStatus[]>
  /** What this process has counted since it started. */
  readonly flow: () => Flow
  /** What was sent for these chunks, span by span. */
  readonly exported: (chunks: readonly Chunk[]) => readonly ExportedSpan[]
  /** Who can mend a failure of this reason: those whose pipeline it is, or those who run the platform and its runners. */
  /** The legacy name of an attribute of such a span; undefined where it has none. */
  readonly legacyName: (kind: ExportedSpan['kind'], name: string) => string | undefined
  /** Whether the trace that a pipeline has begun has this id: 32 lower-case hex digits. */
  readonly isTraceOf: (traceId: string, root: RunKey) => boolean
  readonly failureDomain: (reason: string | undefined) => FailureDomain
  /** Reads a job's log from the platform, redacted; undefined where logs are not shown. */
  readonly jobLog?: ((job: LogOwner) => Promise<ReadLog>) | undefined
  /** Asks the platform how many commits a branch has that a revision has not; undefined where it cannot be asked. */
  readonly countBehind?: ((of: BehindSubject) => Promise<Behind>) | undefined
  readonly setup: () => Setup
  /** Sends now what waits for a destination, or for any: see the export room. */
  readonly tryNow: (destination?: string) => Promise<TriedNow>
  /** What a rule would have flagged of a project, by the runs that are stored; undefined for one without figures. */
  readonly preview: (projectId: number, rule: PreviewRule) => Promise<Preview | undefined>
  /** Called when dead letters are pending again. */
  readonly onRetried: () => void
  readonly now: () => Millis
  readonly log: Log
}

/** From when on something would be flagged. */
export interface PreviewRule {
  /** Percent longer than usual. */
  readonly slower: number
  /** And so many seconds. */
  readonly slowerBy: number
  /** Percentage points more failures. */
  readonly failing: number
}

export interface Preview {
  readonly project: string
  /** So many of its pipelines were read; the oldest ended then. */
  readonly pipelines: number
  readonly backTo?: Millis | undefined
  readonly found: readonly Regression[]
}

export interface BehindSubject {
  readonly instance: string
  readonly projectId: number
  readonly revision: string
  readonly branch: string
}

export type Behind =
  /** `isAll`: false where there are more than one answer has. */
  | { readonly as: 'counted'; readonly commits: number; readonly isAll: boolean }
  | { readonly as: 'refused'; readonly what: string; readonly remedy: string }

/** Whose log is read. */
export interface LogOwner {
  readonly instance: string
  readonly projectId: number
  readonly id: number
  readonly start: Millis
  readonly end: Millis
  readonly isScriptFailure: boolean
}

export interface LogLine {
  readonly number: number
  /** `colour`: 0 to 15, as terminals number them. */
  readonly runs: readonly {
    readonly text: string
    readonly bold?: true | undefined
    readonly colour?: number | undefined
  }[]
  /** The ordinal of the innermost section. */
  readonly section?: number | undefined
}

export type ReadLog =
  | {
      readonly as: 'log'
      readonly lines: readonly LogLine[]
      readonly sections: readonly Section[]
      /** Between its beginning and its end; `number`: of the first such line. */
      readonly missing?: { readonly lines: number; readonly bytes: number; readonly number: number } | undefined
      /** False where there is more than is read. */
      readonly isWhole: boolean
    }
  /** It shows the variables of the job, so none of it is shown. */
  | { readonly as: 'traced' }
  | { readonly as: 'refused'; readonly what: string; readonly remedy: string }

export interface HourCounts {
  readonly received: number
  readonly accepted: number
  readonly duplicate: number
  readonly ignored: number
  readonly refused: number
  /** Attempts of pipelines that ended, and of which a snapshot was taken. */
  readonly settled: number
  /** Exports that a backend has accepted. */
  readonly delivered: number
}

export interface LastHour extends HourCounts {
  /** An hour ago, or when the process started, where that is less long ago. */
  readonly since: Millis
}

/** What every page is made from: the same, and what was read of it lately. */
export interface PagesParts extends PagesSources {
  readonly usuals: Usuals
  readonly hour: { readonly read: () => Promise<LastHour> }
}

export type FailureDomain = 'user' | 'platform' | 'unknown'

/** How far discovery has come, and what it knows of the platform's hooks and API. */
export type DiscoveryRepositories = ReadOnly<
  'polledProjects' | 'ownPipelines' | 'sweeps' | 'hooks' | 'backfills' | 'budgets' | 'refusedEndpoints'
>
type TokenRepositories = ReadOnly<'journals' | 'rotations' | 'daemonReports'>
type ReadOnly<Name extends keyof Repositories> = { readonly [Of in Name]: Readable<Repositories[Of]> }

export interface PagesSettings {
  /** Asked for at every request: it may change while the daemon runs. */
  readonly adminToken: () => Secret | undefined
  /** With `{traceId}`. */
  readonly traceLink?: string | undefined
  /** The unit of prices. */
  readonly costUnit?: string | undefined
  /** There is a price table. */
  readonly hasPrices?: boolean | undefined
  /** Of which jobs the log is read for its sections; empty: of none. */
  readonly jobSections?: readonly string[] | undefined
  /** Reports of tests are read. */
  readonly readsTests?: boolean | undefined
  /** Whether regressions are looked for, and by which rule. */
  readonly regressions?: { readonly enabled: boolean; readonly rule: PreviewRule } | undefined
  /** Audit events are read. */
  readonly readsAudit?: boolean | undefined
  /** True for a project that is not to be seen; undefined: all are shown. */
  readonly isHidden?: ((path: string) => boolean) | undefined
}

/** Since the daemon's start. */
export interface Flow {
  readonly startedAt: Millis
  readonly received: number
  readonly accepted: number
  readonly duplicate: number
  /** By event. */
  readonly ignored: Readonly<Record<string, number>>
  /** By reason, with a sentence for people. */
  readonly refused: readonly { readonly reason: string; readonly message: string; readonly count: number }[]
  readonly lastAccepted?: Millis | undefined
  readonly processed: number
  readonly unparseable: number
  readonly excluded: number
  readonly attempts: number
  readonly supplements: number
  /** Who asks the platform, and what came of it, by name. */
  readonly apiClients: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** Why the platform's API gives no answers at this moment. */
  readonly platformError?: { readonly what: string; readonly remedy: string } | undefined
}

export interface TriedNow {
  /** Exports that were put off, and are due now. */
  readonly due: number
  /** Queues whose circuit breaker was open, and is half-open now. */
  readonly probes: number
}

/** How an export queue stands: see the export room's circuit breaker for its states and causes. */
export interface ExportQueueStatus extends ExportQueue {
  readonly state: 'closed' | 'open' | 'half-open' | 'unserved'
  /** Why the circuit breaker is not closed. */
  readonly cause?: 'unavailable' | 'unauthorized' | 'unacceptable' | undefined
  readonly pending: number
  readonly oldest?: Millis | undefined
  readonly dead: number
  /** Of the pending ones those that were sent, and had to be put off. */
  readonly putOff: number
  readonly nextTry?: Millis | undefined
  readonly lastSuccess?: Millis | undefined
  readonly lastError?:
    { readonly message: string; readonly status?: number | undefined; readonly at: Millis } | undefined
  readonly counters: { readonly delivered: number; readonly repeated: number; readonly partiallyRejected: number }
}

export interface ExportedSpan {
  readonly attempt: number
  readonly name: string
  readonly kind: 'pipeline' | 'job'
  readonly jobId?: number | undefined
  readonly traceId: string
  readonly spanId: string
  readonly start: Millis
  readonly end: Millis
  readonly attributes: Readonly<Record<string, unknown>>
  readonly resource: Readonly<Record<string, unknown>>
}

/** What is configured, without anything secret. */
export interface Setup {
  /** Where webhooks are taken. */
  readonly webhooks: string
  readonly platform?: string | undefined
  readonly hasPlatformToken: boolean
  readonly hasWebhookSecret: boolean
  readonly destinations: readonly {
    readonly name: string
    readonly endpoints: readonly { readonly signal: string; readonly url: string }[]
    /** The start of the token's SHA-256; undefined without a token. */
    readonly fingerprint?: string | undefined
    /** Where the token is read from: its file, or that it is a fixed value. */
    readonly tokenFrom?: string | undefined
  }[]
  readonly observabilityUrl?: string | undefined
  /** Whether that instance drops telemetry without a valid token; undefined where it is not asked. */
  readonly enforcement?: 'on' | 'off' | 'unknown' | undefined
}
