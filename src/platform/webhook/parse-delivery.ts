// Parses a delivery's bytes into an observation or an event, or returns the reason why that is not possible. It never throws, so that a bad delivery
// does not harm others. It also creates the form in which an undecodable delivery may be stored: without pipeline variables, which may be secrets.
import { Fault, PayloadError } from '../../lib/fault.ts'
import { eventKindOf, eventKindOfHeader, type EventKind } from './event-kind.ts'
import { readEvent } from './read-event.ts'
import { noEvents, type EventSelection } from './event-selection.ts'
import { createTextRedaction, type RedactText } from '../../lib/text-redaction.ts'
import { readJobHook, readPipelineHook } from './payload.ts'
import { readObject, type WireObject } from '../wire-read.ts'
import type { HookContext } from './hook-project.ts'
import type { Parsed } from '../port/webhook.ts'
import type { Vendor } from '../vendor.ts'

export interface Delivery {
  /** The value of the event header, such as `Pipeline Hook`. It is used if the body names no kind. */
  readonly event?: string | undefined
  /** The value of the instance header, which is the platform's base URL. */
  readonly instance?: string | undefined
  readonly body: Uint8Array
}

export interface ParseOptions extends Omit<HookContext, 'instance' | 'instanceHeader'> {
  readonly profile: Pick<Vendor, 'headerPrefix' | 'provider'>
  /** Events to accept in addition to pipeline and job events. None by default. */
  readonly events?: EventSelection | undefined
  /** Redacts the strings in events. By default it redacts secrets of known formats, and e-mail addresses. */
  readonly redactText?: RedactText | undefined
}

const redactKnownShapes = createTextRedaction([])

const decoder = new TextDecoder()

/** Parses a webhook delivery. Parsing a body of 25 MiB blocks the event loop for about a quarter of a second. */
export function parseDelivery(delivery: Delivery, options: ParseOptions): Parsed {
  const { events = noEvents } = options
  const named = eventKindOfHeader(delivery.event)
  const json = objectIn(delivery.body)
  // If the body is not JSON, only the header can name the event kind.
  if (json === undefined) {
    if (named !== undefined && !events.takes(named)) return ignored(named)
    // A body that looks like an object comes from the platform but was altered in transit. It is kept for inspection.
    return looksLikeObject(delivery.body) ? { ...notAnObject, outcome: 'unparseable' } : notAnObject
  }
  try {
    return read(json, eventKindOf(named, json), delivery, options)
  } catch (error) {
    const { message } = error instanceof Fault ? error : unreadable(error)
    return { outcome: 'unparseable', reason: message }
  }
}

/** Parses the body. Returns undefined if it is not a JSON object. The parser's error messages are not used, because they may quote the body. */
function objectIn(body: Uint8Array): WireObject | undefined {
  try {
    return readObject(JSON.parse(decoder.decode(body)))
  } catch {
    return undefined
  }
}

/** Whether a body begins and ends like a JSON object, ignoring surrounding white space and a byte order mark. */
function looksLikeObject(body: Uint8Array): boolean {
  const [first, last] = [body.subarray(0, 256), body.subarray(-256)].map(part => decoder.decode(part).trim())
  return first?.startsWith('{') === true && last?.endsWith('}') === true
}

const notAnObject = {
  outcome: 'no object',
  reason:
    'The body is not a JSON object. Check whether a proxy between the platform and the daemon cuts or rewrites it.',
} as const satisfies Parsed

function ignored(kind: EventKind): Parsed {
  return { outcome: 'ignored', kind }
}

function read(json: WireObject, kind: EventKind, { instance }: Delivery, options: ParseOptions): Parsed {
  const { events = noEvents, profile, redactText = redactKnownShapes } = options
  const context: HookContext = { ...options, instance, instanceHeader: `${profile.headerPrefix}Instance` }
  if (kind === 'pipeline') return { outcome: 'observation', ...readPipelineHook(json, context) }
  if (kind === 'job') return { outcome: 'observation', ...readJobHook(json, context) }
  const row = events.row(kind)
  if (row === undefined) return ignored(kind)
  return { outcome: 'event', event: readEvent(row, json, context, { profile, redactText }) }
}

/** Creates the error for a bug in Pipespan, as opposed to an error in the sender's data. */
function unreadable(error: unknown): Fault {
  const name = error instanceof Error ? error.name : typeof error
  return new PayloadError(`The delivery could not be read (${name}).`, 'Please report it, with its stored payload.')
}

/** Number of bytes that are kept of a body that is not JSON. */
export const maxUndecodedBytes = 4_096

/**
 * Returns the body without fields named `variables`, at any depth. If the body is not JSON, or is too deeply nested to be serialized again, only its
 * first 4 KiB are returned, truncated before the first occurrence of `variables`.
 */
export function withoutVariables(body: Uint8Array): Uint8Array {
  try {
    const json: unknown = JSON.parse(decoder.decode(body))
    return Buffer.from(JSON.stringify(json, (key, value: unknown) => (key === 'variables' ? undefined : value)))
  } catch {
    return beginningOf(body)
  }
}

function beginningOf(body: Uint8Array): Uint8Array {
  const beginning = body.subarray(0, maxUndecodedBytes)
  const variables = Buffer.from(beginning).indexOf('variables')
  return variables === -1 ? beginning : beginning.subarray(0, variables)
}
