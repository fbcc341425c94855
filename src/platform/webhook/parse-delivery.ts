// From a delivery's bytes to an observation, or to why there is none. Never throws: one bad delivery harms nothing else.
import { Fault, PayloadError } from '../../lib/fault.ts'
import { eventKindOfBody, eventKindOfHeader, isPipelineOrJob, type EventKind } from './event-kind.ts'
import { parseJson } from './body-json.ts'
import { hookShape, readJobHook, readPipelineHook, type HookContext } from './payload.ts'
import { traceparentOf } from '../traceparent.ts'
import type { Observation } from '../../model/observation.ts'
import type { Profile } from '../profile.ts'

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
  /** Bodies of so many bytes are read selectively; 256 KiB. */
  readonly large?: number | undefined
}

export type Parsed =
  /** `dropped`: jobs in it without a usable id or status. */
  | { readonly outcome: 'observation'; readonly observation: Observation; readonly dropped: number }
  | { readonly outcome: 'ignored'; readonly kind: EventKind }
  /** `reason` ends in a remedy, and quotes nothing of the body. */
  | { readonly outcome: 'unparseable'; readonly reason: string }

export function parseDelivery(delivery: Delivery, options: ParseOptions): Parsed {
  try {
    return parse(delivery, options)
  } catch (error) {
    const fault = error instanceof Fault ? error : unreadable(error)
    return { outcome: 'unparseable', reason: fault.message }
  }
}

function parse({ event, instance, body }: Delivery, options: ParseOptions): Parsed {
  const named = eventKindOfHeader(event)
  if (named !== undefined && !isPipelineOrJob(named)) return { outcome: 'ignored', kind: named }
  const parsed = parseJson(body, hookShape, options.large)
  if (parsed === undefined) {
    throw new PayloadError('The body is not JSON.', 'Look for what cuts or rewrites it on its way from the platform.')
  }
  const { json } = parsed
  const kind = named ?? eventKindOfBody(json)
  const context: HookContext = {
    instance,
    instanceHeader: `${options.profile.headerPrefix}Instance`,
    platformUrl: options.platformUrl,
    traceparent: options.traceparent ? traceparentOf(json) : undefined,
  }
  switch (kind) {
    case 'pipeline':
      return { outcome: 'observation', ...readPipelineHook(json, context) }
    case 'job':
      return { outcome: 'observation', ...readJobHook(json, context) }
    default:
      return { outcome: 'ignored', kind }
  }
}

/** A mistake of this program, not of the sender's. Its own message may quote the body. */
function unreadable(error: unknown): Fault {
  const name = error instanceof Error ? error.name : typeof error
  return new PayloadError(`The delivery could not be read (${name}).`, 'Please report it, with its stored payload.')
}
