// Turns a pipeline into log records: one for the pipeline and one per job and bridge, linked to their spans.
import { SeverityNumber, TraceFlags } from '@opentelemetry/api'
import { attributesOf } from './attributes.ts'
import { carriesPipeline, type Chunk } from '../../model/chunk.ts'
import { isInstant, pipelineTimes, timedJobs } from './span-time.ts'
import { jobAttributes, jobSubjects, type JobSubject } from './mapping/job.ts'
import { jobSpanId, pipelineSpanId, traceIdOf } from './otlp/ids.ts'
import { logAttributes } from './mapping/log.ts'
import { notBlank } from './mapping/row.ts'
import { pipelineAttributes } from './mapping/pipeline.ts'
import { resourceWith, signalResourceOf, scopeOf } from './resource.ts'
import { schemaUrl } from './mapping/semconv.ts'
import { withCustom, type CustomAttributes } from './custom-attributes.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import type { LogRecord, ResourceLogs } from './otlp/messages.ts'
import type { Millis } from '../../model/instant.ts'
import type { Status } from '../../model/status.ts'

/** Returns the log records of a chunk with their resource, or undefined if there are none. */
export function toLogs(chunk: Chunk, settings: TelemetrySettings): ResourceLogs | undefined {
  const logRecords = toRecords(chunk, settings)
  if (logRecords.length === 0) return undefined
  const resource = resourceWith(signalResourceOf(chunk, settings))
  return { resource, scopeLogs: [{ scope: scopeOf(chunk), logRecords, schemaUrl }], schemaUrl }
}

/**
 * Returns the log records of a chunk: the pipeline's record, if the chunk contains it, followed by the records of the jobs, ordered by start and id;
 * or the records of a job's log or report. A pipeline or job without a time has no span, and therefore no record.
 */
export function toRecords(chunk: Chunk, settings: TelemetrySettings): LogRecord[] {
  if (chunk.inside !== undefined) return settings.insides?.records(chunk, chunk.inside, settings) ?? []
  const traceId = traceIdOf(chunk.trace, chunk.key.instance)
  const times = carriesPipeline(chunk) ? pipelineTimes(chunk) : undefined
  const subjectOf = jobSubjects(chunk)
  const custom = settings.custom?.(chunk)
  const context = { traceId, settings, custom }
  const jobs = timedJobs(chunk).map(({ job, times: own }) => jobRecord(subjectOf(job), own.end, context))
  return times === undefined ? jobs : [pipelineRecord(chunk, times.end, context), ...jobs]
}

interface RecordContext {
  readonly traceId: string
  readonly settings: TelemetrySettings
  readonly custom: CustomAttributes | undefined
}

function pipelineRecord(chunk: Chunk, end: Millis, { traceId, settings, custom }: RecordContext): LogRecord {
  const { key, pipeline, attempt } = chunk
  const { status, name, ref } = pipeline.facts
  const severity = severityOf(status)
  const style = styleOf(chunk, settings)
  // The pipeline's creation time is used only for the first attempt, because later attempts start long after it.
  const began = attempt > 1 ? pipeline.start : pipeline.createdAt
  return record({
    at: firstInstant([pipeline.finishedAt, began], end),
    severity,
    body: `Pipeline ${status}: ${notBlank(name) ?? notBlank(ref) ?? key.pipelineId}`,
    attributes: withCustom(
      [
        ...attributesOf(logAttributes, { source: 'pipeline', level: severity.text, verdict: pipeline.verdict }, style),
        ...attributesOf(pipelineAttributes, chunk, style),
      ],
      custom?.own,
    ),
    traceId,
    spanId: pipelineSpanId(chunk),
  })
}

function jobRecord(subject: JobSubject, end: Millis, { traceId, settings, custom }: RecordContext): LogRecord {
  const { chunk, job } = subject
  const stage = notBlank(job.stage)
  const severity = severityOf(job.status, job.allowFailure)
  const style = styleOf(chunk, settings)
  return record({
    at: firstInstant([job.finishedAt, job.startedAt, job.createdAt], end),
    severity,
    body: `Job ${job.status}: ${notBlank(job.name) ?? job.id}${stage === undefined ? '' : ` (${stage})`}`,
    attributes: withCustom(
      [
        ...attributesOf(logAttributes, { source: 'job', level: severity.text }, style),
        ...attributesOf(jobAttributes, subject, style),
      ],
      custom?.ofJob(job.name),
    ),
    traceId,
    spanId: jobSpanId(chunk, job),
  })
}

interface Severity {
  readonly number: SeverityNumber
  readonly text: 'INFO' | 'WARN' | 'ERROR' | 'DEBUG'
}

interface RecordParts extends Pick<LogRecord, 'attributes' | 'traceId' | 'spanId'> {
  readonly at: Millis
  readonly severity: Severity
  readonly body: string
}

function record({ at, severity, body, attributes, traceId, spanId }: RecordParts): LogRecord {
  return {
    timeUnixNano: at,
    // The observed time is not the send time, because repeated exports must be identical.
    observedTimeUnixNano: at,
    severityNumber: severity.number,
    severityText: severity.text,
    body: body.toWellFormed(),
    attributes,
    droppedAttributesCount: 0,
    flags: TraceFlags.SAMPLED,
    traceId,
    spanId,
  }
}

/** Returns the first plausible time, or the end of the span if there is none. */
function firstInstant(candidates: readonly (Millis | undefined)[], end: Millis): Millis {
  return Math.round(candidates.find(isInstant) ?? end)
}

function severityOf(status: Status, allowFailure = false): Severity {
  switch (status) {
    case 'success':
      return { number: SeverityNumber.INFO, text: 'INFO' }
    case 'canceled':
      return { number: SeverityNumber.WARN, text: 'WARN' }
    case 'failed':
      return allowFailure
        ? { number: SeverityNumber.WARN, text: 'WARN' }
        : { number: SeverityNumber.ERROR, text: 'ERROR' }
    default:
      return { number: SeverityNumber.DEBUG, text: 'DEBUG' }
  }
}
