// How a pipeline looks as log records: one for it, one for each of its jobs and bridges, each of the span it belongs to.
import { SeverityNumber, type Attributes } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs'
import { carriesPipeline, type FrozenJob, type FrozenPart } from '../model/frozen.ts'
import type { Millis } from '../model/instant.ts'
import type { Status } from '../model/status.ts'
import { jobAttributesOf } from './attributes/job.ts'
import { logAttributesOf, type LogSubject } from './attributes/log.ts'
import { pipelineAttributesOf } from './attributes/pipeline.ts'
import { resourceOf } from './attributes/resource.ts'
import { notBlank } from './attributes/table.ts'
import { contextOf, jobSpanId, pipelineSpanId, traceIdOf } from './ids.ts'
import { scope } from './scope.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import { hrTimeOf, isInstant } from './span-time.ts'
import { pipelineTimes, timedJobs } from './traces.ts'

interface Severity {
  readonly number: SeverityNumber
  readonly text: 'INFO' | 'WARN' | 'ERROR' | 'DEBUG'
}

/**
 * The records of a part, all of one Resource object: the pipeline's first, where the part carries it, then the jobs' by
 * start and id. What has no span for want of any instant has no record either.
 */
export function toLogs(part: FrozenPart, settings: TelemetrySettings): ReadableLogRecord[] {
  const resource = resourceOf(part, settings)
  const jobs = timedJobs(part).map(({ job, times }) => jobRecord(part, job, times.end, settings, resource))
  const times = carriesPipeline(part) ? pipelineTimes(part) : undefined
  return times === undefined ? jobs : [pipelineRecord(part, times.end, settings, resource), ...jobs]
}

function pipelineRecord(
  part: FrozenPart,
  end: Millis,
  settings: TelemetrySettings,
  resource: Resource,
): ReadableLogRecord {
  const { key, pipeline, attempt } = part
  const { status, name, ref } = pipeline.facts
  // The work of a later attempt began long after the pipeline was created.
  const began = attempt > 1 ? pipeline.start : pipeline.createdAt
  return record(part, settings, {
    source: 'pipeline',
    severity: severityOf(status),
    at: firstInstant([pipeline.finishedAt, began], end),
    spanId: pipelineSpanId(part),
    body: `Pipeline ${status}: ${notBlank(name) ?? notBlank(ref) ?? key.pipelineId}`,
    attributes: pipelineAttributesOf(part, settings),
    resource,
  })
}

function jobRecord(
  part: FrozenPart,
  job: FrozenJob,
  end: Millis,
  settings: TelemetrySettings,
  resource: Resource,
): ReadableLogRecord {
  const stage = notBlank(job.stage)
  return record(part, settings, {
    source: 'job',
    severity: severityOf(job.status, job.allowFailure),
    at: firstInstant([job.finishedAt, job.startedAt, job.createdAt], end),
    spanId: jobSpanId(part, job),
    body: `Job ${job.status}: ${notBlank(job.name) ?? job.id}${stage === undefined ? '' : ` (${stage})`}`,
    attributes: jobAttributesOf(part, job, settings),
    resource,
  })
}

interface Told {
  readonly source: LogSubject['source']
  readonly severity: Severity
  readonly at: Millis
  readonly spanId: string
  readonly body: string
  readonly attributes: Attributes
  readonly resource: Resource
}

function record(part: FrozenPart, settings: TelemetrySettings, told: Told): ReadableLogRecord {
  const { severity, source } = told
  const time = hrTimeOf(told.at)
  return {
    hrTime: time,
    // What is sent again must be the same, so the time it was observed cannot be that of the sending.
    hrTimeObserved: time,
    spanContext: contextOf(traceIdOf(part.trace, part.key.instance), told.spanId),
    severityNumber: severity.number,
    severityText: severity.text,
    body: told.body.toWellFormed(),
    attributes: { ...logAttributesOf({ source, level: severity.text }, styleOf(part, settings)), ...told.attributes },
    droppedAttributesCount: 0,
    instrumentationScope: scope,
    resource: told.resource,
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
