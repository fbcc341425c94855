// How a pipeline looks as a trace: one span for it, one for each of its jobs and bridges.
import { SpanKind, SpanStatusCode, type Link, type SpanContext, type SpanStatus } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { carriesPipeline, type JobSnapshot, type Chunk } from '../model/chunk.ts'
import type { Status } from '../model/status.ts'
import { jobAttributes, jobSubject, type JobSubject } from './mapping/job.ts'
import { linkAttributesOf } from './mapping/link.ts'
import { pipelineAttributes, pipelineOutcome } from './mapping/pipeline.ts'
import { resourceOf, toldResource } from './mapping/resource.ts'
import { notBlank, type AttributeStyle } from './attributes.ts'
import { toldTable, type ToldTable } from './attributes/told.ts'
import {
  contextOf,
  jobSpanId,
  linksOfJob,
  linksOfPipeline,
  parentOfPipeline,
  pipelineSpanId,
  traceIdOf,
  type SpanLink,
} from './otlp/ids.ts'
import type { Outcome } from './mapping/statuses.ts'
import { CICD_PIPELINE_ACTION_NAME_VALUE_RUN } from './mapping/semconv.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import { finished, type SpanSketch, type TraceSketch } from './span-sketch.ts'
import { jobsUrl } from './urls.ts'
import { spanTimes, type SpanTimes } from './span-time.ts'

/**
 * The spans of a part, all of one Resource object: the pipeline's first, where the part carries it, then the jobs' by start
 * and id. A span for which no instant at all is known cannot be placed in time and is left out.
 */
export function toTraces(part: Chunk, settings: TelemetrySettings): ReadableSpan[] {
  const resource = resourceOf(part, settings)
  return sketchTrace(part, settings).spans.map(span => finished(span, resource))
}

/** The same spans, their attributes not made yet. */
export function sketchTrace(part: Chunk, settings: TelemetrySettings): TraceSketch {
  const traceId = traceIdOf(part.trace, part.key.instance)
  const style = styleOf(part, settings)
  const frame: Frame = {
    part,
    settings,
    style,
    traceId,
    pipeline: contextOf(traceId, pipelineSpanId(part)),
    jobs: toldTable(jobAttributes, style, spanAttributes),
    jobsUrl: jobsUrl(part),
  }
  const times = carriesPipeline(part) ? pipelineTimes(part) : undefined
  const spans = times === undefined ? [] : [pipelineSpan(times, frame)]
  for (const { job, times: own } of timedJobs(part)) spans.push(jobSpan(job, own, frame))
  return { resource: toldResource(part, settings), spans }
}

/** The jobs that can be placed in time, by start and id. */
export function timedJobs(part: Chunk): TimedJob[] {
  const jobs: TimedJob[] = []
  for (const job of part.jobs) {
    const times = jobTimes(part, job)
    if (times !== undefined) jobs.push({ job, times })
  }
  return jobs.sort((a, b) => a.times.start - b.times.start || a.job.id - b.job.id)
}

interface TimedJob {
  readonly job: JobSnapshot
  readonly times: SpanTimes
}

/** When a pipeline's span starts and ends; undefined when no instant is known. */
export function pipelineTimes({ pipeline, jobs }: Chunk): SpanTimes | undefined {
  return spanTimes(pipeline.start, pipeline.end, () => [pipeline.createdAt, ...jobs.map(({ end }) => end)])
}

/** When a job's span starts and ends. One that never ran starts and ends at its finish, else at the pipeline's. */
export function jobTimes({ pipeline }: Chunk, job: JobSnapshot): SpanTimes | undefined {
  return spanTimes(job.start, job.end, () => [pipeline.finishedAt, pipeline.end, pipeline.start, pipeline.createdAt])
}

/** `pipeline: {name or ref}`, or as the conventions say `RUN {name}`, and `RUN` for a pipeline without a name. */
export function pipelineSpanName({ key, pipeline }: Chunk, style: TelemetrySettings['spanNames']): string {
  const name = notBlank(pipeline.facts.name)
  if (style === 'legacy') return `pipeline: ${name ?? notBlank(pipeline.facts.ref) ?? key.pipelineId}`.toWellFormed()
  const action = CICD_PIPELINE_ACTION_NAME_VALUE_RUN
  return name === undefined ? action : `${action} ${name}`.toWellFormed()
}

/** Their number in the message of a span. */
const spanAttributes = 9

/** What the spans of one part share. */
interface Frame {
  readonly part: Chunk
  readonly settings: TelemetrySettings
  readonly style: AttributeStyle
  readonly traceId: string
  /** Context of the pipeline's span, whether it is in this part or was sent before. */
  readonly pipeline: SpanContext
  readonly jobs: ToldTable<JobSubject>
  readonly jobsUrl: JobSubject['jobsUrl']
}

function pipelineSpan(times: SpanTimes, { part, settings, style, pipeline }: Frame): SpanSketch {
  return {
    name: pipelineSpanName(part, settings.spanNames),
    kind: SpanKind.SERVER,
    context: pipeline,
    parent: parentOfPipeline(part),
    times,
    status: statusOf(part.pipeline.facts.status, pipelineOutcome(part)),
    attributes: toldTable(pipelineAttributes, style, spanAttributes).of(part),
    links: linked(linksOfPipeline(part), style),
  }
}

function jobSpan(
  job: JobSnapshot,
  times: SpanTimes,
  { part, style, traceId, pipeline, jobs, jobsUrl }: Frame,
): SpanSketch {
  const subject = jobSubject(part, job, jobsUrl)
  return {
    name: `job: ${notBlank(job.name) ?? job.id}`.toWellFormed(),
    kind: SpanKind.INTERNAL,
    context: contextOf(traceId, jobSpanId(part, job)),
    parent: pipeline,
    times,
    status: statusOf(job.status, subject.outcome),
    attributes: jobs.of(subject),
    links: linked(linksOfJob(part, job), style),
  }
}

const none: Link[] = []

function linked(links: readonly SpanLink[], style: AttributeStyle): Link[] {
  return links.length === 0
    ? none
    : links.map(({ type, context }) => ({ context, attributes: linkAttributesOf(type, style) }))
}

/** `success` OK; `failed` and `canceled` ERROR, with the reason where there is one; all else UNSET. */
function statusOf(status: Status, { reason }: Outcome): SpanStatus {
  switch (status) {
    case 'success':
      return { code: SpanStatusCode.OK }
    case 'failed':
    case 'canceled':
      return { code: SpanStatusCode.ERROR, ...(reason === undefined ? {} : { message: reason.toWellFormed() }) }
    default:
      return { code: SpanStatusCode.UNSET }
  }
}
