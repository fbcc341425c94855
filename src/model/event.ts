// A webhook event that is about no pipeline: what is exported of it, and by what it is known again. Pure.
import type { Chunk } from './chunk.ts'
import type { ChangeFigures } from './change-figures.ts'
import type { DeploymentFigures } from './deployment-figures.ts'
import type { IncidentFigures } from './incident.ts'
import type { JobSpan, PipelineSpan } from './deployment.ts'
import type { Millis } from './instant.ts'
import type { ProjectFacts } from './observation.ts'

/** Version of what is stored of an event to be sent. A change that an older reader would misread gets a new number. */
export const eventVersion = 1

export type EventValue = string | number | boolean

/** When what an event is about began, and when it ended. */
export interface EventTimes {
  readonly createdAt?: Millis | undefined
  readonly endedAt?: Millis | undefined
}

export interface PlatformEvent {
  /** Normalised base URL (see `instance.ts`). */
  readonly instance: string
  /** The word that selects it: `deployment`, `change`, … */
  readonly kind: string
  /** As OpenTelemetry has it, `platform.deployment`; `platform.` stands for the profile's namespace. */
  readonly name: string
  /** When it happened, by the platform; undefined where the platform does not say. */
  readonly at?: Millis | undefined
  /** Other times of what it is about. They are not exported. */
  readonly times?: EventTimes | undefined
  readonly severity: 'info' | 'warn' | 'error'
  /** A short display string. */
  readonly body: string
  /** By the names of the contract, in its order. */
  readonly attributes: Readonly<Record<string, EventValue>>
  readonly project?: ProjectFacts | undefined
  /** Path of the group, where it is about no project. */
  readonly group?: string | undefined
  /** Whose span it is of, where that is known from the start. */
  readonly span?: JobSpan | PipelineSpan | undefined
  /** What it is about: of all instances and kinds. */
  readonly object: string
  /** Distinguishes it from all others, where the platform says enough for that; else `object` and `content` do, with the order of arrival. */
  readonly key?: string | undefined
  /** Digest of all that the platform said. */
  readonly content: string
}

/** An event as it is stored to be sent. */
export interface EventChunk {
  readonly version: typeof eventVersion
  readonly kind: 'event'
  readonly key: { readonly instance: string }
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
  /** The profile under which it was received. */
  readonly trace: { readonly profile: string }
  readonly event: Pick<PlatformEvent, 'kind' | 'name' | 'severity' | 'body' | 'attributes'>
  /** The job whose span it is of, where that was known in time. */
  readonly job?: JobSpan | undefined
  /** The pipeline whose span it is of. */
  readonly pipeline?: PipelineSpan | undefined
  /** What was counted of a deployment: such a chunk goes out as metrics alone. */
  readonly deployment?: DeploymentFigures | undefined
  /** What was counted of a change: the same. */
  readonly change?: ChangeFigures | undefined
  /** What was counted of an incident: the same. */
  readonly incident?: IncidentFigures | undefined
  /** When it happened: as the platform says, else when it was received. */
  readonly at: Millis
  /** When it was received. */
  readonly observedAt: Millis
}

export function eventChunk(event: PlatformEvent, receivedAt: Millis, profile: string): EventChunk {
  const { instance, kind, name, severity, body, attributes, project, group, span } = event
  return {
    version: eventVersion,
    kind: 'event',
    key: { instance },
    ...(project !== undefined && { project }),
    ...(group !== undefined && { group }),
    trace: { profile },
    event: { kind, name, severity, body, attributes },
    ...(span !== undefined && ('jobId' in span ? { job: span } : { pipeline: span })),
    at: event.at ?? receivedAt,
    observedAt: receivedAt,
  }
}

/** Whatever is stored to be sent. */
export type AnyChunk = Chunk | EventChunk

export function isEvent(chunk: AnyChunk): chunk is EventChunk {
  return chunk.kind === 'event'
}
