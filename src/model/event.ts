// A webhook event that is not about a pipeline: its exported content, and its identity. Pure.
import type { Chunk } from './chunk.ts'
import type { JobSpan, PipelineSpan } from './trace-context.ts'
import type { Millis } from './instant.ts'
import type { ProjectFacts } from './observation.ts'

export type EventValue = string | number | boolean

/** When the object of an event began and ended. */
export interface EventTimes {
  readonly createdAt?: Millis | undefined
  readonly endedAt?: Millis | undefined
}

export interface PlatformEvent {
  /** Normalised base URL (see `instance.ts`). */
  readonly instance: string
  /** The value of `PIPESPAN_EVENTS` that selects it: `deployment`, `change`, … */
  readonly kind: string
  /** The OpenTelemetry event name, such as `platform.deployment`; `platform.` stands for the profile's namespace. */
  readonly name: string
  /** When it happened; undefined where the platform does not report it. */
  readonly at?: Millis | undefined
  /** Not exported: metrics are computed from them. */
  readonly times?: EventTimes | undefined
  readonly severity: 'info' | 'warn' | 'error'
  /** A short display string. */
  readonly body: string
  /** In the order of docs/EVENTS.md. */
  readonly attributes: Readonly<Record<string, EventValue>>
  /** Not exported: labels of the merge request that rules for attributes want. */
  readonly labels?: readonly string[] | undefined
  readonly project?: ProjectFacts | undefined
  /** Path of the group, for an event of no project. */
  readonly group?: string | undefined
  /** Not exported: a push that may have changed the CI configuration of the default branch. */
  readonly touchesCi?: boolean | undefined
  /** The span it belongs to, if that is known from the start. */
  readonly span?: JobSpan | PipelineSpan | undefined
  /** What it is about; unique over all instances and kinds. */
  readonly object: string
  /** Identifies the event, if the platform reports enough for that; else the order of arrival decides (`core/store/sql/events.ts`). */
  readonly key?: string | undefined
  /** Digest of the whole payload. */
  readonly content: string
}

/** An event as it is stored and sent. */
export interface EventChunk {
  readonly kind: 'event'
  readonly key: { readonly instance: string }
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
  /** The profile under which it was received. */
  readonly trace: { readonly profile: string }
  readonly event: Pick<PlatformEvent, 'kind' | 'name' | 'severity' | 'body' | 'attributes' | 'labels'>
  /** The job whose span it belongs to, if that was known in time. */
  readonly job?: JobSpan | undefined
  /** The pipeline whose span it belongs to. */
  readonly pipeline?: PipelineSpan | undefined
  /** The figures of something that was counted: it is sent as metrics only, by the table of its kind (`core/telemetry/mapping/metric-row.ts`). */
  readonly figures?: object | undefined
  /** When it happened; where that is unknown, when it was received. */
  readonly at: Millis
  /** When it was received. */
  readonly observedAt: Millis
}

/** The id in an attribute of the event; undefined where there is no valid one. */
export function idOf({ attributes }: PlatformEvent, attribute: string): number | undefined {
  const id = Number(String(attributes[attribute]))
  return Number.isSafeInteger(id) && id > 0 ? id : undefined
}

export function eventChunk(event: PlatformEvent, receivedAt: Millis, profile: string): EventChunk {
  const { instance, kind, name, severity, body, attributes, labels, project, group, span } = event
  return {
    kind: 'event',
    key: { instance },
    ...(project !== undefined && { project }),
    ...(group !== undefined && { group }),
    trace: { profile },
    event: { kind, name, severity, body, attributes, ...(labels !== undefined && { labels }) },
    ...(span !== undefined && ('jobId' in span ? { job: span } : { pipeline: span })),
    at: event.at ?? receivedAt,
    observedAt: receivedAt,
  }
}

/** Everything that is stored to be sent. */
export type AnyChunk = Chunk | EventChunk

export function isEvent(chunk: AnyChunk): chunk is EventChunk {
  return chunk.kind === 'event'
}

// The events that the timeline shows: the few that people look for after a change. Most are only exported.

/** The timeline also shows deployments, from their own table. */
export const shownKinds = ['merge', 'release', 'flag', 'incident', 'audit'] as const
export type ShownKind = (typeof shownKinds)[number]

const incidentActions: ReadonlySet<unknown> = new Set(['open', 'close', 'reopen'])

/** Undefined: it is not shown. */
export function shownAs({ kind, attributes }: Pick<PlatformEvent, 'kind' | 'attributes'>): ShownKind | undefined {
  switch (kind) {
    case 'change':
      return attributes['platform.vcs.change.action'] === 'merge' ? 'merge' : undefined
    case 'release':
      return 'release'
    case 'feature_flag':
      return 'flag'
    case 'issue':
      return String(attributes['platform.issue.type']).toLowerCase() === 'incident' &&
        incidentActions.has(attributes['platform.issue.action'])
        ? 'incident'
        : undefined
    case 'audit':
      return 'audit'
    default:
      return undefined
  }
}
