// Decides what a backend's response means for a request. Pure. This is the only place where verdicts are decided.
import {
  JsonLogsSerializer,
  JsonMetricsSerializer,
  JsonTraceSerializer,
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer'
import { isJson, shorten, messageOf } from './backend-message.ts'
import { isGrpc, isOtlpGrpc, isRefusedByGrpc, useOtlpHttp, isWebPage } from '../../lib/wrong-service.ts'
import { httpDate, retryAfter } from '../../lib/retry-after.ts'
import type { Millis } from '../../model/instant.ts'
import type { Signal } from '../store/ports/outbox.ts'

// An import of node:http reads all of its exports, and one of them loads Node's own copy of undici, which nothing here uses. A process that does
// nothing else needs 58 MiB with the import and 44 MiB without it.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

/** The outcome of one POST request. */
export type Answer =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly contentType?: string | undefined
      readonly retryAfter?: string | undefined
      /** The time on the backend's clock. A date in Retry-After is compared with it. */
      readonly date?: string | undefined
      readonly body: Uint8Array
    }
  | {
      readonly kind: 'failed'
      readonly reason: string
      /** Whether the outcome is unknown: the request was in flight, and the backend may have accepted it. */
      readonly outcomeUnknown: boolean
      /** Why the endpoint counts as gRPC: it responded with HTTP/2 frames, or it does not support HTTP/1.1 and uses gRPC's port. */
      readonly grpcBy?: 'frames' | 'port' | undefined
    }

/** The verdict on a response. `message` is the backend's message, shortened, or the meaning of the status. */
export type Verdict =
  /** The request was accepted, except for `rejected` spans, points or records. OTLP forbids resending the rejected ones. */
  | { readonly as: 'delivered'; readonly rejected: number; readonly message?: string | undefined }
  | Later
  | Unauthorized
  | Unacceptable

export interface Later {
  readonly as: 'later'
  readonly kind: 'unreachable' | 'throttled' | 'server' | 'other'
  readonly status?: number | undefined
  readonly message: string
  readonly retryAfterMs?: number | undefined
  readonly outcomeUnknown: boolean
}

interface Refusal<As> {
  readonly as: As
  readonly status: number
  readonly message: string
}

/** The backend rejected the credentials. Only different credentials can make a retry succeed. */
export type Unauthorized = Refusal<'unauthorized'>
/** The backend rejected the content. Only different content can make a retry succeed. */
export type Unacceptable = Refusal<'unacceptable'>

/**
 * Returns the verdict on a response. A 2xx counts as delivered, unless its body is a web page or it comes from a gRPC server: then the request did
 * not reach an OTLP/HTTP receiver. 401 and 403 concern the credentials, and 400, 413 and 422 the content. After all other responses the request is
 * sent again later, even after redirects and 404, because an operator can fix their cause.
 */
export function verdictOf(answer: Answer, signal: Signal, now: Millis): Verdict {
  if (answer.kind === 'failed') return failedBy(answer, signal)
  const { status, body, contentType } = answer
  const another = signal === 'notifications' ? undefined : anotherBy(answer)
  if (another !== undefined) return { as: 'later', kind: 'other', status, message: another, outcomeUnknown: false }
  if (status >= 200 && status < 300) return deliveredBy(answer, signal)
  const message = messageOf(body, contentType) ?? STATUS_CODES[status] ?? 'no reason given'
  if (status === 401 || status === 403) return { as: 'unauthorized', status, message }
  if (status === 400 || status === 413 || status === 422) return { as: 'unacceptable', status, message }
  const wait = retryAfter(answer.retryAfter, httpDate(answer.date) ?? now)
  return {
    as: 'later',
    kind: status === 429 ? 'throttled' : status >= 500 ? 'server' : 'other',
    status,
    message,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    outcomeUnknown: false,
  }
}

/** Formats a verdict's status and message as one sentence, e.g. `HTTP 503: overloaded`. */
export function sentenceOf(verdict: { readonly status?: number | undefined; readonly message: string }): string {
  return verdict.status === undefined ? verdict.message : `HTTP ${verdict.status}: ${verdict.message}`
}

/** True if an entry of the request may itself have caused the failure. After five such failures, the entry is sent in ever smaller requests. */
export function blames(verdict: Later): boolean {
  return verdict.kind === 'server' || verdict.outcomeUnknown
}

function failedBy({ reason, outcomeUnknown, grpcBy }: Extract<Answer, { kind: 'failed' }>, signal: Signal): Later {
  const why = shorten(reason) ?? 'no answer'
  if (grpcBy === undefined || signal === 'notifications')
    return { as: 'later', kind: 'unreachable', message: why, outcomeUnknown }
  if (grpcBy === 'port') {
    const message = `${why}; the port is that of OTLP/gRPC, and ${useOtlpHttp}`
    return { as: 'later', kind: 'other', message, outcomeUnknown }
  }
  return { as: 'later', kind: 'other', message: isOtlpGrpc, outcomeUnknown: false }
}

type Answered = Extract<Answer, { kind: 'answered' }>

/** Names the service that responded instead of an OTLP receiver. Statuses other than 2xx have their own verdicts, whichever service sends them. */
function anotherBy({ status, body, contentType }: Answered): string | undefined {
  if (isGrpc(contentType) || (status >= 400 && isRefusedByGrpc(messageOf(body, contentType)))) return isOtlpGrpc
  if (status < 200 || status >= 300 || !isWebPage(body, contentType)) return undefined
  const title = messageOf(body, 'text/html')
  return `a web page answered instead of an OTLP receiver${title === undefined ? '' : `: ${title}`}`
}

function deliveredBy(answer: Answered, signal: Signal): Extract<Verdict, { as: 'delivered' }> {
  // The receiver of a notification may confirm it with a web page. Such a response counts as success, because people must not get the notification
  // again and again.
  if (signal === 'notifications' && isWebPage(answer.body, answer.contentType))
    return {
      as: 'delivered',
      rejected: 0,
      message: 'the response is a web page; check that the URL is that of the receiver',
    }
  const { rejected, text } = partialSuccess(answer, signal)
  const message = shorten(text)
  return { as: 'delivered', rejected, ...(message === undefined ? {} : { message }) }
}

/** Returns the partial success that the response reports. If the response cannot be decoded, a 2xx counts as a full success. */
function partialSuccess(
  { body, contentType }: { readonly body: Uint8Array; readonly contentType?: string | undefined },
  signal: Signal,
): { rejected: number; text: string } {
  try {
    const reported = readPartialSuccess[signal](body, isJson(contentType))
    const rejected = Number(reported?.rejected ?? 0)
    const text = typeof reported?.message === 'string' ? reported.message : ''
    return { rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0, text }
  } catch {
    return { rejected: 0, text: '' }
  }
}

/**
 * The fields of a partial success in a response. They have type unknown, because a 64-bit number in JSON may be a string, and backends may not
 * respect the types.
 */
interface PartialSuccess {
  readonly rejected: unknown
  readonly message: unknown
}

const readPartialSuccess: Readonly<Record<Signal, (body: Uint8Array, json: boolean) => PartialSuccess | undefined>> = {
  traces: (body, json) => {
    const { partialSuccess: partial } = (json ? JsonTraceSerializer : ProtobufTraceSerializer).deserializeResponse(body)
    return partial && { rejected: partial.rejectedSpans, message: partial.errorMessage }
  },
  metrics: (body, json) => {
    const { partialSuccess: partial } = (json ? JsonMetricsSerializer : ProtobufMetricsSerializer).deserializeResponse(
      body,
    )
    return partial && { rejected: partial.rejectedDataPoints, message: partial.errorMessage }
  },
  // Notification receivers have no standard response, and accept a notification as a whole or not at all.
  notifications: () => undefined,
  logs: (body, json) => {
    const { partialSuccess: partial } = (json ? JsonLogsSerializer : ProtobufLogsSerializer).deserializeResponse(body)
    return partial && { rejected: partial.rejectedLogRecords, message: partial.errorMessage }
  },
}
