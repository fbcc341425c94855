// Converts a pipeline into a trace: one span for the pipeline and one for each job and bridge.
import type { SpanContext } from '@opentelemetry/api'
import { attributesOf, cut, defaultValueLengthLimit, type AttributeStyle } from './attributes.ts'
import { carriesPipeline, type Chunk } from '../../model/chunk.ts'
import { jobAttributes, jobSubjects, type JobSubject } from './mapping/job.ts'
import {
  contextOf,
  jobSpanId,
  linksOfJob,
  linksOfPipeline,
  parentOfPipeline,
  pipelineSpanId,
  traceIdOf,
  type SpanLink,
  type LinkType,
} from './otlp/ids.ts'
import { notBlank, type AttributeRow } from './mapping/row.ts'
import { pipelineAttributes, pipelineOutcome, runAction } from './mapping/pipeline.ts'
import type { Outcome } from './mapping/statuses.ts'
import { pipelineTimes, timedJobs, type SpanTimes } from './span-time.ts'
import { resourceWith, signalResourceOf, scopeOf } from './resource.ts'
import { schemaUrl } from './mapping/semconv.ts'
import {
  flagsOf,
  spanKinds,
  statusCodes,
  type Link,
  type ResourceSpans,
  type Span,
  type SpanStatus,
} from './otlp/messages.ts'
import { withCustom, type CustomAttributes } from './custom-attributes.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import type { Status } from '../../model/status.ts'

// The attribute of a link that contains the reason for the link.
export const linkAttributes: readonly AttributeRow<LinkType>[] = [
  { keys: ['platform.cicd.link.type'], type: 'string', when: 'always', value: type => type },
]

/** The spans of a chunk with their resource; undefined if the chunk has no spans. */
export function toTraces(chunk: Chunk, settings: TelemetrySettings): ResourceSpans | undefined {
  const spans = toSpans(chunk, settings)
  if (spans.length === 0) return undefined
  const resource = resourceWith(signalResourceOf(chunk, settings))
  return { resource, scopeSpans: [{ scope: scopeOf(chunk), spans, schemaUrl }], schemaUrl }
}

/**
 * The spans of a chunk. If the chunk contains jobs, these are the pipeline's span (if the chunk carries the pipeline), followed by the spans of the
 * jobs, sorted by start and ID. Other chunks have the spans of a job's log or report. Spans without any known time are omitted.
 */
export function toSpans(chunk: Chunk, settings: TelemetrySettings): Span[] {
  if (chunk.inside !== undefined) return settings.insides?.spans(chunk, chunk.inside, settings) ?? []
  const custom = settings.custom?.(chunk)
  const style = styleOf(chunk, settings)
  const traceId = traceIdOf(chunk.trace, chunk.key.instance)
  const pipeline = contextOf(traceId, pipelineSpanId(chunk))
  const times = carriesPipeline(chunk) ? pipelineTimes(chunk) : undefined
  const subjectOf = jobSubjects(chunk)
  const looks = { style, settings, custom }
  const jobs = timedJobs(chunk).map(({ job, times: own }) => jobSpan(subjectOf(job), own, pipeline, looks))
  return times === undefined ? jobs : [pipelineSpan(chunk, times, pipeline, looks), ...jobs]
}

/**
 * The name of a pipeline's span: `pipeline: {name or ref}`. In the style of the conventions it is `RUN {name}`, or `RUN` for a pipeline without a
 * name.
 */
function pipelineSpanName({ key, pipeline }: Chunk, style: TelemetrySettings['spanNames']): string {
  const name = notBlank(pipeline.facts.name)
  if (style === 'legacy') return `pipeline: ${name ?? notBlank(pipeline.facts.ref) ?? key.pipelineId}`.toWellFormed()
  return name === undefined ? runAction : `${runAction} ${name}`.toWellFormed()
}

interface SpanLooks {
  readonly style: AttributeStyle
  readonly settings: TelemetrySettings
  readonly custom: CustomAttributes | undefined
}

function pipelineSpan(
  chunk: Chunk,
  times: SpanTimes,
  { traceId, spanId }: SpanContext,
  { style, settings, custom }: SpanLooks,
): Span {
  const parent = parentOfPipeline(chunk)
  return {
    traceId,
    spanId,
    parentSpanId: parent?.spanId,
    name: pipelineSpanName(chunk, settings.spanNames),
    kind: spanKinds.pipeline,
    startTimeUnixNano: times.start,
    endTimeUnixNano: times.end,
    attributes: withCustom(attributesOf(pipelineAttributes, chunk, style), custom?.own),
    droppedAttributesCount: 0,
    events: [],
    droppedEventsCount: 0,
    status: statusOf(chunk.pipeline.facts.status, refusalOf(chunk) ?? shownReason(pipelineOutcome(chunk), settings)),
    links: linksOfPipeline(chunk).map(link => toLink(link, style)),
    droppedLinksCount: 0,
    flags: flagsOf(parent),
  }
}

/** An empty list that all spans share. */
const none: readonly never[] = []

/** Builds the span of a job. `pipeline`: the context of the pipeline's span, which may be in an earlier chunk. */
function jobSpan(
  subject: JobSubject,
  times: SpanTimes,
  pipeline: SpanContext,
  { style, settings, custom }: SpanLooks,
): Span {
  const { chunk, job, outcome } = subject
  return {
    traceId: pipeline.traceId,
    spanId: jobSpanId(chunk, job),
    parentSpanId: pipeline.spanId,
    name: `job: ${notBlank(job.name) ?? job.id}`.toWellFormed(),
    kind: spanKinds.job,
    startTimeUnixNano: times.start,
    endTimeUnixNano: times.end,
    attributes: withCustom(attributesOf(jobAttributes, subject, style), custom?.ofJob(job.name)),
    droppedAttributesCount: 0,
    events: none,
    droppedEventsCount: 0,
    status: statusOf(job.status, shownReason(outcome, settings)),
    links: job.salt === undefined ? none : linksOfJob(chunk, job).map(link => toLink(link, style)),
    droppedLinksCount: 0,
    flags: flagsOf(pipeline),
  }
}

function toLink({ type, context }: SpanLink, style: AttributeStyle): Link {
  return {
    attributes: attributesOf(linkAttributes, type, style),
    spanId: context.spanId,
    traceId: context.traceId,
    droppedAttributesCount: 0,
    flags: flagsOf(context),
  }
}

/**
 * The status message of a pipeline with an invalid configuration. It is truncated here, because the attribute policy does not apply to status
 * messages.
 */
function refusalOf({ pipeline }: Chunk): string | undefined {
  const message = notBlank(pipeline.facts.yamlErrors)
  return message === undefined ? undefined : cut(message, defaultValueLengthLimit)
}

/**
 * The failure reason for a span's status message. With `strict` conventions it is omitted: the conventions advise against repeating `error.type`,
 * which already contains the reason.
 */
function shownReason({ reason }: Outcome, { conventions }: TelemetrySettings): string | undefined {
  return conventions === 'strict' ? undefined : reason
}

/**
 * The status of a span. `success` becomes OK; `failed` and `canceled` become ERROR, with the reason if there is one; all other statuses become UNSET.
 */
function statusOf(status: Status, reason: string | undefined): SpanStatus {
  switch (status) {
    case 'success':
      return { code: statusCodes.ok }
    case 'failed':
    case 'canceled':
      return { code: statusCodes.error, message: reason?.toWellFormed() }
    default:
      return { code: statusCodes.unset }
  }
}
