// From a delivery's bytes to an observation or an event, or to why there is none. Never throws: one bad delivery harms nothing else.
import { Fault, PayloadError } from '../../lib/fault.ts'
import { eventKindOfBody, eventKindOfHeader, isPipelineOrJob, type EventKind } from './event-kind.ts'
import { eventShape, readEvent } from './read-event.ts'
import { noEvent, type EventSelection } from './event-selection.ts'
import { createTextRedaction, type RedactText } from '../text-redaction.ts'
import { parseJson } from './body-json.ts'
import { hookShape, readJobHook, readPipelineHook, type HookContext } from './payload.ts'
import { traceparentOf } from '../traceparent.ts'
import type { Observation } from '../../model/observation.ts'
import type { PlatformEvent } from '../../model/event.ts'
import type { Profile } from '../profile.ts'
import type { Shape } from './wire-shape.ts'

export interface Delivery {
  /** The event header, e.g. `Pipeline Hook`. Without it the body decides its kind. */
  readonly event?: string | undefined
  /** The instance header: the platform's base URL. */
  readonly instance?: string | undefined
  readonly body: Uint8Array
}

export interface ParseOptions {
  /** The platform's base URL, for deliveries that do not name theirs. */
  readonly platformUrl?: string | undefined
  readonly profile: Profile
  /** Honour a `TRACEPARENT` pipeline variable. */
  readonly traceparent: boolean
  /** Which events are wanted beside those of pipelines and jobs; none by default. */
  readonly events?: EventSelection | undefined
  /** What is taken out of texts of events; by default the shapes of secrets that are known, and e-mail addresses. */
  readonly redactText?: RedactText | undefined
  /** Bodies of so many bytes are read selectively; 256 KiB. */
  readonly large?: number | undefined
}

export type Parsed =
  /** `dropped`: jobs in it without a usable id or status. */
  | { readonly outcome: 'observation'; readonly observation: Observation; readonly dropped: number }
  | { readonly outcome: 'event'; readonly event: PlatformEvent }
  | { readonly outcome: 'ignored'; readonly kind: EventKind }
  /** `reason` ends in a remedy, and quotes nothing of the body. */
  | { readonly outcome: 'unparseable'; readonly reason: string }

const redactKnownShapes = createTextRedaction([])

export function parseDelivery(delivery: Delivery, options: ParseOptions): Parsed {
  try {
    return parse(delivery, options)
  } catch (error) {
    const fault = error instanceof Fault ? error : unreadable(error)
    return { outcome: 'unparseable', reason: fault.message }
  }
}

function parse({ event, instance, body }: Delivery, options: ParseOptions): Parsed {
  const { events = noEvent, profile, redactText = redactKnownShapes } = options
  const named = eventKindOfHeader(event)
  if (named !== undefined && !events.takes(named)) return { outcome: 'ignored', kind: named }
  const isEvent = named !== undefined && !isPipelineOrJob(named)
  const json = jsonOf(body, isEvent ? eventShape : hookShape, options)
  const kind = named ?? eventKindOfBody(json)
  const context: HookContext = {
    instance,
    instanceHeader: `${profile.headerPrefix}Instance`,
    platformUrl: options.platformUrl,
    traceparent: options.traceparent ? traceparentOf(json) : undefined,
  }
  if (kind === 'pipeline') return { outcome: 'observation', ...readPipelineHook(json, context) }
  if (kind === 'job') return { outcome: 'observation', ...readJobHook(json, context) }
  const row = events.row(kind)
  if (row === undefined) return { outcome: 'ignored', kind }
  // Where only the body said what it is, all that an event has may not have been read of a large one.
  const whole = isEvent ? json : jsonOf(body, eventShape, options)
  return { outcome: 'event', event: readEvent(row, whole, context, { profile, redactText }) }
}

function jsonOf(body: Uint8Array, shape: Shape, { large }: ParseOptions): unknown {
  const parsed = parseJson(body, shape, large)
  if (parsed !== undefined) return parsed.json
  throw new PayloadError('The body is not JSON.', 'Look for what cuts or rewrites it on its way from the platform.')
}

/** A mistake of this program, not of the sender's. Its own message may quote the body. */
function unreadable(error: unknown): Fault {
  const name = error instanceof Error ? error.name : typeof error
  return new PayloadError(`The delivery could not be read (${name}).`, 'Please report it, with its stored payload.')
}
