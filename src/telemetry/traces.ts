// How a pipeline looks as a trace: one span for it, one for each of its jobs and bridges.
import { SpanKind, SpanStatusCode, type Link, type SpanContext, type SpanStatus } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { carriesPipeline, type FrozenJob, type FrozenPart } from '../model/frozen.ts'
import type { Status } from '../model/status.ts'
import { jobAttributes } from './attributes/job.ts'
import { linkAttributesOf } from './attributes/link.ts'
import { pipelineAttributes, pipelineOutcome } from './attributes/pipeline.ts'
import { resourceOf } from './attributes/resource.ts'
import { notBlank, type AttributeStyle } from './attributes/table.ts'
import { ToldAttributes } from './attributes/told.ts'
import {
  contextOf,
  jobSpanId,
  linksOfJob,
  linksOfPipeline,
  parentOfPipeline,
  pipelineSpanId,
  traceIdOf,
  type SpanLink,
} from './ids.ts'
import { outcomeOfJob, type Outcome } from './mapping.ts'
import { CICD_PIPELINE_ACTION_NAME_VALUE_RUN } from './semconv.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import { finished, type SpanSketch, type TraceSketch } from './span-sketch.ts'
import { spanTimes, type SpanTimes } from './span-time.ts'

/**
 * The spans of a part, all of one Resource object: the pipeline's first, where the part carries it, then the jobs' by start
 * and id. A span for which no instant at all is known cannot be placed in time and is left out.
 */
export function toTraces(part: FrozenPart, settings: TelemetrySettings): ReadableSpan[] {
  const { resource, spans } = sketchTrace(part, settings)
  return spans.map(span => finished(span, resource))
}

/** The same spans, their attributes not made yet. */
export function sketchTrace(part: FrozenPart, settings: TelemetrySettings): TraceSketch {
  const traceId = traceIdOf(part.trace, part.key.instance)
  const frame: Frame = {
    part,
    settings,
    style: styleOf(part, settings),
    traceId,
    pipeline: contextOf(traceId, pipelineSpanId(part)),
  }
  const jobs = part.jobs
    .flatMap(job => {
      const times = jobTimes(part, job)
      return times === undefined ? [] : [{ job, times }]
    })
    .sort((a, b) => a.times.start - b.times.start || a.job.id - b.job.id)
    .map(({ job, times }) => jobSpan(job, times, frame))
  const times = carriesPipeline(part) ? pipelineTimes(part) : undefined
  const resource = resourceOf(part, settings)
  return { resource, spans: times === undefined ? jobs : [pipelineSpan(times, frame), ...jobs] }
}

/** When a pipeline's span starts and ends; undefined when no instant is known. */
export function pipelineTimes({ pipeline, jobs }: FrozenPart): SpanTimes | undefined {
  return spanTimes(pipeline.start, pipeline.end, [pipeline.createdAt, ...jobs.map(({ end }) => end)])
}

/** When a job's span starts and ends. One that never ran starts and ends at its finish, else at the pipeline's. */
export function jobTimes({ pipeline }: FrozenPart, job: FrozenJob): SpanTimes | undefined {
  return spanTimes(job.start, job.end, [pipeline.finishedAt, pipeline.end, pipeline.start, pipeline.createdAt])
}

/** `pipeline: {name or ref}`, or as the conventions say `RUN {name}`, and `RUN` for a pipeline without a name. */
export function pipelineSpanName({ key, pipeline }: FrozenPart, style: TelemetrySettings['spanNames']): string {
  const name = notBlank(pipeline.facts.name)
  if (style === 'legacy') return `pipeline: ${name ?? notBlank(pipeline.facts.ref) ?? key.pipelineId}`.toWellFormed()
  const action = CICD_PIPELINE_ACTION_NAME_VALUE_RUN
  return name === undefined ? action : `${action} ${name}`.toWellFormed()
}

/** What the spans of one part share. */
interface Frame {
  readonly part: FrozenPart
  readonly settings: TelemetrySettings
  readonly style: AttributeStyle
  readonly traceId: string
  /** Context of the pipeline's span, whether it is in this part or was sent before. */
  readonly pipeline: SpanContext
}

function pipelineSpan(times: SpanTimes, { part, settings, style, pipeline }: Frame): SpanSketch {
  return {
    name: pipelineSpanName(part, settings.spanNames),
    kind: SpanKind.SERVER,
    context: pipeline,
    parent: parentOfPipeline(part),
    times,
    status: statusOf(part.pipeline.facts.status, pipelineOutcome(part)),
    attributes: new ToldAttributes(pipelineAttributes, part, style),
    links: linked(linksOfPipeline(part), style),
  }
}

function jobSpan(job: FrozenJob, times: SpanTimes, { part, style, traceId, pipeline }: Frame): SpanSketch {
  return {
    name: `job: ${notBlank(job.name) ?? job.id}`.toWellFormed(),
    kind: SpanKind.INTERNAL,
    context: contextOf(traceId, jobSpanId(part, job)),
    parent: pipeline,
    times,
    status: statusOf(job.status, outcomeOfJob(job)),
    attributes: new ToldAttributes(jobAttributes, { part, job }, style),
    links: linked(linksOfJob(part, job), style),
  }
}

function linked(links: readonly SpanLink[], style: AttributeStyle): Link[] {
  return links.map(({ type, context }) => ({ context, attributes: linkAttributesOf(type, style) }))
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
