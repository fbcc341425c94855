// How a pipeline looks as a trace: one span for it, one for each of its jobs and bridges.
import { SpanKind, SpanStatusCode, type Link, type SpanContext, type SpanStatus } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { carriesPipeline, type FrozenJob, type FrozenPart } from '../model/frozen.ts'
import type { Status } from '../model/status.ts'
import { jobAttributesOf } from './attributes/job.ts'
import { linkAttributesOf } from './attributes/link.ts'
import { pipelineAttributesOf, pipelineOutcome } from './attributes/pipeline.ts'
import { resourceOf } from './attributes/resource.ts'
import { notBlank } from './attributes/table.ts'
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
import { scope } from './scope.ts'
import { CICD_PIPELINE_ACTION_NAME_VALUE_RUN } from './semconv.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import { hrTimeOf, spanTimes, type SpanTimes } from './span-time.ts'

/**
 * The spans of a part, all of one Resource object: the pipeline's first, where the part carries it, then the jobs' by start
 * and id. A span for which no instant at all is known cannot be placed in time and is left out.
 */
export function toTraces(part: FrozenPart, settings: TelemetrySettings): ReadableSpan[] {
  const traceId = traceIdOf(part.trace, part.key.instance)
  const frame: Frame = {
    part,
    settings,
    resource: resourceOf(part, settings),
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
  return times === undefined ? jobs : [pipelineSpan(times, frame), ...jobs]
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
  readonly resource: Resource
  readonly traceId: string
  /** Context of the pipeline's span, whether it is in this part or was sent before. */
  readonly pipeline: SpanContext
}

function pipelineSpan(times: SpanTimes, { part, settings, resource, pipeline }: Frame): ReadableSpan {
  const parent = parentOfPipeline(part)
  return {
    ...unchanging,
    name: pipelineSpanName(part, settings.spanNames),
    kind: SpanKind.SERVER,
    spanContext: () => pipeline,
    ...(parent === undefined ? {} : { parentSpanContext: parent }),
    ...timed(times),
    status: statusOf(part.pipeline.facts.status, pipelineOutcome(part)),
    attributes: pipelineAttributesOf(part, settings),
    links: linked(linksOfPipeline(part), part, settings),
    resource,
  }
}

function jobSpan(
  job: FrozenJob,
  times: SpanTimes,
  { part, settings, resource, traceId, pipeline }: Frame,
): ReadableSpan {
  const context = contextOf(traceId, jobSpanId(part, job))
  return {
    ...unchanging,
    name: `job: ${notBlank(job.name) ?? job.id}`.toWellFormed(),
    kind: SpanKind.INTERNAL,
    spanContext: () => context,
    parentSpanContext: pipeline,
    ...timed(times),
    status: statusOf(job.status, outcomeOfJob(job)),
    attributes: jobAttributesOf(part, job, settings),
    links: linked(linksOfJob(part, job), part, settings),
    resource,
  }
}

/** What is the same of every span that is made here. */
const unchanging = {
  instrumentationScope: scope,
  ended: true,
  events: [],
  droppedAttributesCount: 0,
  droppedEventsCount: 0,
  droppedLinksCount: 0,
} satisfies Partial<ReadableSpan>

function timed({ start, end }: SpanTimes): Pick<ReadableSpan, 'startTime' | 'endTime' | 'duration'> {
  return { startTime: hrTimeOf(start), endTime: hrTimeOf(end), duration: hrTimeOf(end - start) }
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

function linked(links: readonly SpanLink[], part: FrozenPart, settings: TelemetrySettings): Link[] {
  const style = styleOf(part, settings)
  return links.map(({ type, context }) => ({ context, attributes: linkAttributesOf(type, style) }))
}
