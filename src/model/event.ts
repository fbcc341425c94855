// Declares a webhook event that is not about a pipeline: its exported content and its identity. Pure.
import type { Chunk } from './chunk.ts'
import type { JobSpan, PipelineSpan } from './trace-context.ts'
import type { Millis } from './instant.ts'
import type { ProjectFacts } from './observation.ts'

export type EventValue = string | number | boolean

/** The start and end of the object that an event is about. */
export interface EventTimes {
  readonly createdAt?: Millis | undefined
  readonly endedAt?: Millis | undefined
}

export interface PlatformEvent {
  /** The platform's base URL, normalised (see `instance.ts`). */
  readonly instance: string
  /** The value in `PIPESPAN_EVENTS` that enables events of this kind: `deployment`, `change`, … */
  readonly kind: string
  /** The OpenTelemetry event name, such as `platform.deployment`. The prefix `platform.` is replaced by the profile's namespace. */
  readonly name: string
  /** When the event happened; undefined if the platform does not report it. */
  readonly at?: Millis | undefined
  /** The times of the event's object. They are not exported, but metrics are computed from them. */
  readonly times?: EventTimes | undefined
  readonly severity: 'info' | 'warn' | 'error'
  /** A short human-readable description of the event. */
  readonly body: string
  /** The event's attributes, in the order of docs/EVENTS.md. */
  readonly attributes: Readonly<Record<string, EventValue>>
  /** Labels of the merge request, for the operator's attribute rules. They are not exported. */
  readonly labels?: readonly string[] | undefined
  readonly project?: ProjectFacts | undefined
  /** Path of the group, for an event that is not about a project. */
  readonly group?: string | undefined
  /** True for a push that may have changed the CI configuration of the default branch. This field is not exported. */
  readonly touchesCi?: boolean | undefined
  /** The span that the event belongs to, if it is already known when the event is received. */
  readonly span?: JobSpan | PipelineSpan | undefined
  /** Identifies the object that the event is about. Unique across all instances and kinds. */
  readonly object: string
  /**
   * Identifies the event, if the platform reports enough to do so. Without a key, the order of arrival determines whether a delivery is a new event
   * or a repeated one (`core/store/sql/events.ts`).
   */
  readonly key?: string | undefined
  /** A digest of the event's whole payload. */
  readonly content: string
}

/** An event as it is stored and sent. */
export interface EventChunk {
  readonly kind: 'event'
  readonly key: { readonly instance: string }
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
  /** The telemetry profile with which the event was received. */
  readonly trace: { readonly profile: string }
  readonly event: Pick<PlatformEvent, 'kind' | 'name' | 'severity' | 'body' | 'attributes' | 'labels'>
  /** The job that the event belongs to, if it was known before the event was exported. */
  readonly job?: JobSpan | undefined
  readonly pipeline?: PipelineSpan | undefined
  /**
   * Figures that a feature has counted. A chunk with figures is only sent as metrics, which are computed by the metric table for the event's kind
   * (`core/telemetry/mapping/metric-row.ts`).
   */
  readonly figures?: object | undefined
  /** When the event happened or, if that is unknown, when it was received. */
  readonly at: Millis
  /** When the event was received. */
  readonly observedAt: Millis
}

/** Parses the ID in an attribute of an event; undefined if it has no valid ID. */
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

export type AnyChunk = Chunk | EventChunk

export function isEvent(chunk: AnyChunk): chunk is EventChunk {
  return chunk.kind === 'event'
}

// Selects the events that the timeline shows: the few kinds that people look for after a change. Most events are only exported.

/** The kinds of events that the timeline shows. It also shows deployments, which are stored in their own table. */
export const shownKinds = ['merge', 'release', 'flag', 'incident', 'audit'] as const
export type ShownKind = (typeof shownKinds)[number]

const incidentActions: ReadonlySet<unknown> = new Set(['open', 'close', 'reopen'])

/** The kind under which the timeline shows an event; undefined if the timeline does not show it. */
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
