// Turns an event that belongs to no pipeline into a log record with an event name.
import { SeverityNumber, TraceFlags } from '@opentelemetry/api'
import { attributesOf, keyUnder, type AttributeStyle } from './attributes.ts'
import { eventAttributes } from './mapping/log.ts'
import { eventScope, resourceWith, signalResourceOf } from './resource.ts'
import { contextOfJob, contextOfPipeline } from './otlp/ids.ts'
import { ATTR_DEPLOYMENT_NAME, schemaUrl } from './mapping/semconv.ts'
import { withCustom } from './custom-attributes.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import type { AttributeSet } from './otlp/attribute.ts'
import type { AttributeRow } from './mapping/row.ts'
import type { EventChunk, EventValue } from '../../model/event.ts'
import type { LogRecord, ResourceLogs } from './otlp/messages.ts'

const severities = { info: SeverityNumber.INFO, warn: SeverityNumber.WARN, error: SeverityNumber.ERROR } as const

/** Returns the event's log record, with the resource of its project. */
export function toEventLogs(chunk: EventChunk, settings: TelemetrySettings): ResourceLogs {
  const resource = resourceWith(signalResourceOf(chunk, settings))
  return {
    resource,
    scopeLogs: [{ scope: eventScope, logRecords: [toEventRecord(chunk, settings)], schemaUrl }],
    schemaUrl,
  }
}

export function toEventRecord(chunk: EventChunk, settings: TelemetrySettings): LogRecord {
  const { event, at, observedAt, job } = chunk
  const style = styleOf(chunk, settings)
  const eventName = keyUnder(style.namespace, event.name)
  const named = job?.name === undefined ? {} : { [ATTR_DEPLOYMENT_NAME]: job.name }
  const attributes = Object.entries({ ...event.attributes, ...named }).flatMap(([key, value]) =>
    attributeOf(key, value, style),
  )
  return {
    timeUnixNano: at,
    observedTimeUnixNano: observedAt,
    // A newer version may have stored a severity that is unknown to this version.
    severityNumber: (severities as Readonly<Record<string, SeverityNumber>>)[event.severity] ?? SeverityNumber.INFO,
    severityText: '',
    body: event.body.toWellFormed(),
    attributes: withCustom(
      [...attributes, ...attributesOf(eventAttributes, { name: eventName, settings }, style)],
      settings.custom?.(chunk).own,
    ),
    droppedAttributesCount: 0,
    flags: TraceFlags.NONE,
    eventName,
    ...spanOf(chunk),
  }
}

/** Returns the span of the job or pipeline that the event is about. */
function spanOf({ key, job, pipeline }: EventChunk): Pick<LogRecord, 'traceId' | 'spanId' | 'flags'> | undefined {
  const context = (job && contextOfJob(key.instance, job)) ?? (pipeline && contextOfPipeline(key.instance, pipeline))
  return context && { ...context, flags: TraceFlags.SAMPLED }
}

/** Attribute tables for events. Each has one row, for one attribute name and one value type. */
const tables = new Map<string, readonly AttributeRow<EventValue>[]>()

function attributeOf(key: string, value: EventValue, style: AttributeStyle): AttributeSet[] {
  const name = `${typeof value} ${key}`
  const table = tables.get(name) ?? [rowOf(key, value)]
  tables.set(name, table)
  return attributesOf(table, value, style)
}

function rowOf(key: string, like: EventValue): AttributeRow<EventValue> {
  const type = typeof like === 'boolean' ? 'bool' : typeof like === 'number' ? 'int' : 'string'
  return { keys: [key], type, when: 'known', value: given => given } as AttributeRow<EventValue>
}
