// Parses a delivery's bytes into an observation or an event, or answers why not. Never throws, so that a bad delivery harms no other.
import { Fault, PayloadError } from '../../lib/fault.ts'
import { eventKindOf, eventKindOfHeader, isPipelineOrJob, type EventKind } from './event-kind.ts'
import { eventShape, readEvent } from './read-event.ts'
import { noEvent, type EventSelection } from './event-selection.ts'
import { createTextRedaction, type RedactText } from '../../lib/text-redaction.ts'
import { pickJson } from './json-pick.ts'
import { ReportFault } from '../reports/report-fault.ts'
import { hookShape, readJobHook, readPipelineHook } from './payload.ts'
import type { HookContext } from './hook-project.ts'
import type { Shape } from './wire-shape.ts'
import type { Parsed } from '../port/webhook.ts'
import type { Vendor } from '../vendor.ts'

export interface Delivery {
  /** The event header, such as `Pipeline Hook`. It counts where the body names no kind. */
  readonly event?: string | undefined
  /** The instance header: the platform's base URL. */
  readonly instance?: string | undefined
  readonly body: Uint8Array
}

export interface ParseOptions extends Omit<HookContext, 'instance' | 'instanceHeader'> {
  readonly profile: Pick<Vendor, 'headerPrefix' | 'provider'>
  /** Other events to accept than those of pipelines and jobs; none by default. */
  readonly events?: EventSelection | undefined
  /** Redacts texts of events; by default known forms of secrets, and e-mail addresses. */
  readonly redactText?: RedactText | undefined
  /** Bodies from this size on are parsed in turns, bytes; 256 KiB by default. */
  readonly large?: number | undefined
}

/** `JSON.parse` is quicker for smaller bodies, and needs a few MB at most, bytes. */
const largeBody = 256 * 1024

const redactKnownShapes = createTextRedaction([])

const decoder = new TextDecoder()

/** At once, of any size: a body of 25 MiB takes a quarter of a second. */
export function parseDelivery(delivery: Delivery, options: ParseOptions): Parsed {
  const named = eventKindOfHeader(delivery.event)
  try {
    const json: unknown = JSON.parse(decoder.decode(delivery.body))
    return read(json, eventKindOf(named, json), delivery, options)
  } catch (error) {
    return refused(error, named, options)
  }
}

/** The same, but a large body is parsed in turns of the event loop, and only what is read of it is built. */
export function parseInTurns(delivery: Delivery, options: ParseOptions): Parsed | Promise<Parsed> {
  const { large = largeBody } = options
  return delivery.body.length < large ? parseDelivery(delivery, options) : parseLarge(delivery, options)
}

async function parseLarge(delivery: Delivery, options: ParseOptions): Promise<Parsed> {
  const named = eventKindOfHeader(delivery.event)
  try {
    const shapeOf = (kind: EventKind | undefined): Shape =>
      isEvent(kind) ? eventShape : hookShape(options.wanted?.variables)
    const json = await pickJson(delivery.body, shapeOf(named))
    const kind = eventKindOf(named, json)
    // If the body is of another kind than the header says, it was parsed with the shape of that.
    const isOfOther = isEvent(kind) !== isEvent(named) && isTaken(kind, options)
    return read(isOfOther ? await pickJson(delivery.body, shapeOf(kind)) : json, kind, delivery, options)
  } catch (error) {
    return refused(error, named, options)
  }
}

function isTaken(kind: EventKind, { events = noEvent }: ParseOptions): boolean {
  return events.takes(kind)
}

function isEvent(kind: EventKind | undefined): boolean {
  return kind !== undefined && !isPipelineOrJob(kind)
}

function read(json: unknown, kind: EventKind, { instance }: Delivery, options: ParseOptions): Parsed {
  const { events = noEvent, profile, redactText = redactKnownShapes } = options
  const context: HookContext = { ...options, instance, instanceHeader: `${profile.headerPrefix}Instance` }
  if (kind === 'pipeline') return { outcome: 'observation', ...readPipelineHook(json, context) }
  if (kind === 'job') return { outcome: 'observation', ...readJobHook(json, context) }
  const row = events.row(kind)
  if (row === undefined) return { outcome: 'ignored', kind }
  return { outcome: 'event', event: readEvent(row, json, context, { profile, redactText }) }
}

/** The messages of parsers are not used, as they may quote the body. A body that is not JSON is of the kind that its header names. */
function refused(error: unknown, named: EventKind | undefined, options: ParseOptions): Parsed {
  const isNoJson = error instanceof SyntaxError || error instanceof ReportFault
  if (isNoJson && named !== undefined && !isTaken(named, options)) return { outcome: 'ignored', kind: named }
  const fault = isNoJson ? notJson() : error instanceof Fault ? error : unreadable(error)
  return { outcome: 'unparseable', reason: fault.message }
}

function notJson(): Fault {
  return new PayloadError('The body is not JSON.', 'Look for what cuts or rewrites it on its way from the platform.')
}

/** An error of this program, not of the sender. */
function unreadable(error: unknown): Fault {
  const name = error instanceof Error ? error.name : typeof error
  return new PayloadError(`The delivery could not be read (${name}).`, 'Please report it, with its stored payload.')
}
