// Turns a job's dotenv report into a log record. Other reports, except for tests, only have metrics.
import { SeverityNumber, TraceFlags } from '@opentelemetry/api'
import { attributesOf, keyUnder, namedAttributes } from './attributes.ts'
import { dotenvAttributes, dotenvEvent } from './mapping/report.ts'
import { eventAttributesOf } from './event-name.ts'
import { isInstant } from './span-time.ts'
import { jobSpanId, traceIdOf } from './otlp/ids.ts'
import { withCustom } from './custom-attributes.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import type { Chunk } from '../model/chunk.ts'
import type { InsideJob } from '../model/inside.ts'
import type { JobReport } from '../model/job-reports.ts'
import type { LogRecord } from './otlp/messages.ts'

/** One record, linked to the job's span, or none. */
export function reportRecords(
  chunk: Chunk,
  job: InsideJob,
  { dotenv }: JobReport,
  settings: TelemetrySettings,
): LogRecord[] {
  if (dotenv === undefined || !isInstant(job.end)) return []
  const style = styleOf(chunk, settings)
  const name = keyUnder(style.namespace, dotenvEvent)
  const keys = Object.entries(dotenv)
  return [
    {
      // The report was complete when the job ended.
      timeUnixNano: job.end,
      observedTimeUnixNano: job.end,
      severityNumber: SeverityNumber.INFO,
      severityText: '',
      body: `${job.name ?? job.id} reports ${keys.length} ${keys.length === 1 ? 'value' : 'values'}`.toWellFormed(),
      attributes: withCustom(
        [
          ...attributesOf(dotenvAttributes, job, style),
          ...namedAttributes(Object.fromEntries(keys.map(([key, value]) => [`${name}.${key}`, value])), style),
          ...eventAttributesOf(name, style, settings),
        ],
        settings.custom?.(chunk).ofJob(job.name),
      ),
      droppedAttributesCount: 0,
      flags: TraceFlags.SAMPLED,
      traceId: traceIdOf(chunk.trace, chunk.key.instance),
      spanId: jobSpanId(chunk, job),
      eventName: name,
    },
  ]
}
