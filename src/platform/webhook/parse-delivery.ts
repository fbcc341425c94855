// Parses a delivery's bytes into an observation or an event, or answers why not. Never throws, so that a bad delivery harms no other.
import { Fault, PayloadError } from '../../lib/fault.ts'
import { eventKindOfBody, eventKindOfHeader, isPipelineOrJob } from './event-kind.ts'
import { eventShape, readEvent } from './read-event.ts'
import { noEvent, type EventSelection } from './event-selection.ts'
import { createTextRedaction, type RedactText } from '../text-redaction.ts'
import { atOnce, inTurns, type Turns } from './turns.ts'
import { largeBody, parseJson } from './body-json.ts'
import { hookShape, readJobHook, readPipelineHook, type HookContext } from './payload.ts'
import { traceparentOf } from '../traceparent.ts'
import type { Parsed } from '../port/webhook.ts'
import type { Vendor } from '../vendor.ts'
import type { Shape } from './wire-shape.ts'

export interface Delivery {
  /** The event header, such as `Pipeline Hook`. Without it the body decides the kind. */
  readonly event?: string | undefined
  /** The instance header: the platform's base URL. */
  readonly instance?: string | undefined
  readonly body: Uint8Array
}

export interface ParseOptions {
  /** The platform's base URL, for deliveries that do not name theirs. */
  readonly platformUrl?: string | undefined
  readonly profile: Pick<Vendor, 'headerPrefix' | 'provider'>
  /** Honour a `TRACEPARENT` pipeline variable. */
  readonly traceparent: boolean
  /** Other events to accept than those of pipelines and jobs; none by default. */
  readonly events?: EventSelection | undefined
  /** Redacts texts of events; by default known forms of secrets, and e-mail addresses. */
  readonly redactText?: RedactText | undefined
  /** Bodies from this size on are parsed selectively, bytes; 256 KiB by default. */
  readonly large?: number | undefined
}

const redactKnownShapes = createTextRedaction([])

/** A large body is parsed in turns of the event loop: at once it would take a third of a second. */
export function parseInTurns(delivery: Delivery, options: ParseOptions): Parsed | Promise<Parsed> {
  const { large = largeBody } = options
  return delivery.body.length < large ? parseDelivery(delivery, options) : inTurns(parsed(delivery, options))
}

export function parseDelivery(delivery: Delivery, options: ParseOptions): Parsed {
  return atOnce(parsed(delivery, options))
}

function* parsed(delivery: Delivery, options: ParseOptions): Turns<Parsed> {
  try {
    return yield* parse(delivery, options)
  } catch (error) {
    const fault = error instanceof Fault ? error : unreadable(error)
    return { outcome: 'unparseable', reason: fault.message }
  }
}

function* parse({ event, instance, body }: Delivery, options: ParseOptions): Turns<Parsed> {
  const { events = noEvent, profile, redactText = redactKnownShapes } = options
  const named = eventKindOfHeader(event)
  if (named !== undefined && !events.takes(named)) return { outcome: 'ignored', kind: named }
  const isEvent = named !== undefined && !isPipelineOrJob(named)
  const json = yield* jsonOf(body, isEvent ? eventShape : hookShape, options)
  const kind = named ?? eventKindOfBody(json)
  const context: HookContext = {
    instance,
    instanceHeader: `${profile.headerPrefix}Instance`,
    platformUrl: options.platformUrl,
    traceparent: options.traceparent ? yield* traceparentOf(json) : undefined,
  }
  if (kind === 'pipeline') return { outcome: 'observation', ...(yield* readPipelineHook(json, context)) }
  if (kind === 'job') return { outcome: 'observation', ...readJobHook(json, context) }
  const row = events.row(kind)
  if (row === undefined) return { outcome: 'ignored', kind }
  // If only the body says of which kind it is, a large body was parsed with the wrong shape.
  const whole = isEvent ? json : yield* jsonOf(body, eventShape, options)
  return { outcome: 'event', event: readEvent(row, whole, context, { profile, redactText }) }
}

function* jsonOf(body: Uint8Array, shape: Shape, { large }: ParseOptions): Turns<unknown> {
  const found = yield* parseJson(body, shape, large)
  if (found !== undefined) return found.json
  throw new PayloadError('The body is not JSON.', 'Look for what cuts or rewrites it on its way from the platform.')
}

/** An error of this program, not of the sender. Its message is not used, as it may quote the body. */
function unreadable(error: unknown): Fault {
  const name = error instanceof Error ? error.name : typeof error
  return new PayloadError(`The delivery could not be read (${name}).`, 'Please report it, with its stored payload.')
}
