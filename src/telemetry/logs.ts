// How a pipeline looks as log records: one for it, one for each of its jobs and bridges, each of the span it belongs to.
import { SeverityNumber, type Attributes, type SpanContext } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs'
import { carriesPipeline, type JobSnapshot, type Chunk } from '../model/chunk.ts'
import type { Millis } from '../model/instant.ts'
import type { Status } from '../model/status.ts'
import { jobAttributes, jobSubject, type JobSubject } from './mapping/job.ts'
import { logAttributes, type LogSubject } from './mapping/log.ts'
import { pipelineAttributes } from './mapping/pipeline.ts'
import { resourceOf, toldResource } from './mapping/resource.ts'
import { notBlank } from './attributes.ts'
import { toldTable, type AttributeSource, type ToldTable } from './attributes/told.ts'
import { contextOf, jobSpanId, pipelineSpanId, traceIdOf } from './otlp/ids.ts'
import { scope } from './otlp/scope.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import { hrTimeOf, isInstant } from './span-time.ts'
import { jobsUrl } from './urls.ts'
import { pipelineTimes, timedJobs } from './traces.ts'

interface Severity {
  readonly number: SeverityNumber
  readonly text: 'INFO' | 'WARN' | 'ERROR' | 'DEBUG'
}

/** A record as it will be, its attributes not made yet. */
export interface LogSketch {
  readonly at: Millis
  readonly severity: Severity
  readonly body: string
  /** Of its span. */
  readonly context: SpanContext
  /** In their order; of two of one name the later counts. */
  readonly attributes: readonly AttributeSource[]
}

/** The records of one part, all of one resource. */
export interface LogsSketch {
  readonly resource: AttributeSource
  readonly records: readonly LogSketch[]
}

/**
 * The records of a part, all of one Resource object: the pipeline's first, where the part carries it, then the jobs' by
 * start and id. What has no span for want of any instant has no record either.
 */
export function toLogs(part: Chunk, settings: TelemetrySettings): ReadableLogRecord[] {
  const resource = resourceOf(part, settings)
  return sketchLogs(part, settings).records.map(one => finished(one, resource))
}

/** The same records, their attributes not made yet. */
export function sketchLogs(part: Chunk, settings: TelemetrySettings): LogsSketch {
  const style = styleOf(part, settings)
  const frame: Frame = {
    part,
    traceId: traceIdOf(part.trace, part.key.instance),
    own: toldTable(logAttributes, style, logAttributesField),
    jobs: toldTable(jobAttributes, style, logAttributesField),
    pipeline: toldTable(pipelineAttributes, style, logAttributesField).of(part),
    jobsUrl: jobsUrl(part),
  }
  const times = carriesPipeline(part) ? pipelineTimes(part) : undefined
  const records = times === undefined ? [] : [pipelineRecord(times.end, frame)]
  for (const { job, times: own } of timedJobs(part)) records.push(jobRecord(job, own.end, frame))
  return { resource: toldResource(part, settings), records }
}

/** Their number in the message of a record. */
const logAttributesField = 6

/** What the records of one part share. */
interface Frame {
  readonly part: Chunk
  readonly traceId: string
  readonly own: ToldTable<LogSubject>
  readonly jobs: ToldTable<JobSubject>
  readonly pipeline: AttributeSource
  readonly jobsUrl: JobSubject['jobsUrl']
}

function pipelineRecord(end: Millis, { part, traceId, own, pipeline: attributes }: Frame): LogSketch {
  const { key, pipeline, attempt } = part
  const { status, name, ref } = pipeline.facts
  const severity = severityOf(status)
  // The work of a later attempt began long after the pipeline was created.
  const began = attempt > 1 ? pipeline.start : pipeline.createdAt
  return {
    at: firstInstant([pipeline.finishedAt, began], end),
    severity,
    body: `Pipeline ${status}: ${notBlank(name) ?? notBlank(ref) ?? key.pipelineId}`.toWellFormed(),
    context: contextOf(traceId, pipelineSpanId(part)),
    attributes: [own.of({ source: 'pipeline', level: severity.text }), attributes],
  }
}

function jobRecord(job: JobSnapshot, end: Millis, { part, traceId, own, jobs, jobsUrl: base }: Frame): LogSketch {
  const stage = notBlank(job.stage)
  const severity = severityOf(job.status, job.allowFailure)
  const subject = `${notBlank(job.name) ?? job.id}${stage === undefined ? '' : ` (${stage})`}`
  return {
    at: firstInstant([job.finishedAt, job.startedAt, job.createdAt], end),
    severity,
    body: `Job ${job.status}: ${subject}`.toWellFormed(),
    context: contextOf(traceId, jobSpanId(part, job)),
    attributes: [own.of({ source: 'job', level: severity.text }), jobs.of(jobSubject(part, job, base))],
  }
}

/** The record as the SDK's own would be. */
function finished({ at, severity, body, context, attributes }: LogSketch, resource: Resource): ReadableLogRecord {
  const time = hrTimeOf(at)
  return {
    hrTime: time,
    hrTimeObserved: time,
    spanContext: context,
    severityNumber: severity.number,
    severityText: severity.text,
    body,
    attributes: Object.assign({}, ...attributes.map(one => one.asObject())) as Attributes,
    droppedAttributesCount: 0,
    instrumentationScope: scope,
    resource,
  }
}

/** The first that makes sense; `end`, the span's, always does. */
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
