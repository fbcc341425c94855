// Decodes a log export request into plain records, each with its resource and scope.
import { logsRequest } from '../../src/simulator/otlp-messages.ts'
import {
  millisOf,
  plainAttributes,
  plainId,
  plainResource,
  plainScope,
  plainValue,
  type Attributes,
  type Int64,
  type PlainValue,
  type ReceivedResource,
  type ReceivedScope,
  type WireAnyValue,
  type WireKeyValue,
  type WireResource,
  type WireScope,
} from './otlp-values.ts'

export interface ReceivedLogRecord {
  /** Unix nanoseconds, exact. */
  readonly nanos: bigint
  readonly observedNanos: bigint
  /** Unix milliseconds. */
  readonly time: number
  readonly severityNumber: number
  readonly severityText: string
  readonly body: PlainValue
  readonly eventName: string
  readonly traceId: string | undefined
  readonly spanId: string | undefined
  readonly flags: number
  readonly attributes: Attributes
  readonly droppedAttributesCount: number
  readonly resource: ReceivedResource
  readonly scope: ReceivedScope
}

interface WireLogRecord {
  readonly timeUnixNano: Int64
  readonly observedTimeUnixNano: Int64
  readonly severityNumber: number
  readonly severityText: string
  readonly body?: WireAnyValue | null
  readonly eventName: string
  readonly traceId: Uint8Array
  readonly spanId: Uint8Array
  readonly flags: number
  readonly attributes: readonly WireKeyValue[]
  readonly droppedAttributesCount: number
}

interface WireLogsRequest {
  readonly resourceLogs: readonly {
    readonly resource?: WireResource | null
    readonly schemaUrl: string
    readonly scopeLogs: readonly {
      readonly scope?: WireScope | null
      readonly schemaUrl: string
      readonly logRecords: readonly WireLogRecord[]
    }[]
  }[]
}

/** Throws on bytes that are no ExportLogsServiceRequest. */
export function decodeLogs(body: Uint8Array): ReceivedLogRecord[] {
  const request = logsRequest.decode(body) as unknown as WireLogsRequest
  return request.resourceLogs.flatMap(({ resource, schemaUrl, scopeLogs }) => {
    const from = plainResource(resource, schemaUrl)
    return scopeLogs.flatMap(group => {
      const scope = plainScope(group.scope, group.schemaUrl)
      return group.logRecords.map(record => plainLogRecord(record, from, scope))
    })
  })
}

function plainLogRecord(record: WireLogRecord, resource: ReceivedResource, scope: ReceivedScope): ReceivedLogRecord {
  const nanos = record.timeUnixNano.toBigInt()
  return {
    nanos,
    observedNanos: record.observedTimeUnixNano.toBigInt(),
    time: millisOf(nanos),
    severityNumber: record.severityNumber,
    severityText: record.severityText,
    body: plainValue(record.body),
    eventName: record.eventName,
    traceId: plainId(record.traceId),
    spanId: plainId(record.spanId),
    flags: record.flags,
    attributes: plainAttributes(record.attributes),
    droppedAttributesCount: record.droppedAttributesCount,
    resource,
    scope,
  }
}
