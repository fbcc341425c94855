// Compares the spans that arrived at the backend with what actually happened on the simulated platform.
import type { PipelineTruth } from '../support/truth.ts'
import type { ReceivedSpan } from '../support/otlp-decode.ts'

interface Arrived {
  readonly pipelines: ReadonlyMap<number, readonly ReceivedSpan[]>
  readonly jobs: ReadonlyMap<number, readonly ReceivedSpan[]>
}

function arrived(spans: readonly ReceivedSpan[]): Arrived {
  const pipelineSpans = spans.filter(({ kind }) => kind === 'server')
  const jobSpans = spans.filter(({ kind }) => kind === 'internal')
  return {
    pipelines: Map.groupBy(pipelineSpans, ({ attributes }) => Number(attributes['pipeline.id'])),
    jobs: Map.groupBy(jobSpans, ({ attributes }) => Number(attributes['job.id'])),
  }
}

/** Truncates a time to the second, as webhooks do. */
export function cut(at: number): number {
  return Math.floor(at / 1000) * 1000
}

function isLastEnd({ attributes, end }: ReceivedSpan, { status, finishedAt }: PipelineTruth): boolean {
  return attributes['pipeline.status'] === status && end >= cut(finishedAt ?? 0)
}

function isLastRun({ attributes, start, end }: ReceivedSpan, job: PipelineTruth['jobs'][number]): boolean {
  return (
    attributes['job.status'] === job.status &&
    (job.startedAt === undefined || start === cut(job.startedAt)) &&
    (job.startedAt === undefined || job.finishedAt === undefined || end === cut(job.finishedAt))
  )
}

/**
 * Returns all differences as sentences. Every pipeline must have one span for each attempt with a snapshot, and the last of these must have the
 * pipeline's final status. The last run of every job must have one span, and no run of a job may have two. No span may describe anything that never
 * happened.
 */
export function differences(truths: readonly PipelineTruth[], spans: readonly ReceivedSpan[]): string[] {
  const wrong: string[] = []
  const there = arrived(spans)
  const seen = new Set<string>()
  for (const { spanId, name } of spans) {
    if (seen.has(spanId)) wrong.push(`${name}: span ${spanId} arrived twice`)
    seen.add(spanId)
  }
  const pipelineIds = new Set(truths.map(({ id }) => id))
  const jobIds = new Set(truths.flatMap(({ jobs }) => jobs.map(({ id }) => id)))
  for (const id of there.pipelines.keys())
    if (!pipelineIds.has(id)) wrong.push(`pipeline ${id} does not exist on the platform`)
  for (const id of there.jobs.keys()) if (!jobIds.has(id)) wrong.push(`job ${id} does not exist on the platform`)
  for (const truth of truths) wrong.push(...pipelineDifferences(truth, there), ...jobDifferences(truth, there))
  return wrong
}

function pipelineDifferences(truth: PipelineTruth, there: Arrived): string[] {
  const wrong: string[] = []
  const own = there.pipelines.get(truth.id) ?? []
  const what = `pipeline ${truth.id} (${truth.ends.map(({ status }) => status).join(', ') || truth.status})`
  if (truth.ends.length === 0) return own.length === 0 ? [] : [`${what} has not ended, but has ${own.length} spans`]
  if (!own.some(span => isLastEnd(span, truth)))
    wrong.push(`${what}: no span has its last end; it has ${own.length} spans`)
  if (own.length > truth.ends.length) wrong.push(`${what}: ended ${truth.ends.length} times, has ${own.length} spans`)
  const attempts = own.map(({ attributes }) => Number(attributes['platform.cicd.pipeline.run.attempt'] ?? 1))
  const expected = own.map((_, index) => index + 1)
  if (attempts.toSorted((a, b) => a - b).join() !== expected.join()) wrong.push(`${what}: attempts ${attempts.join()}`)
  return wrong
}

function jobDifferences(truth: PipelineTruth, there: Arrived): string[] {
  const wrong: string[] = []
  if (truth.ends.length === 0) return wrong
  for (const job of truth.jobs) {
    const own = there.jobs.get(job.id) ?? []
    const what = `job ${job.id} ${job.name} of pipeline ${truth.id}`
    const ran = own.filter(({ attributes }) => isRun(attributes['job.status']))
    const starts = ran.map(({ start }) => start)
    if (new Set(starts).size < starts.length) wrong.push(`${what}: one of its runs has two spans`)
    if (ran.length > Math.max(1, job.runs)) wrong.push(`${what}: ran ${job.runs} times, has ${ran.length} spans`)
    const last = own.filter(span => isLastRun(span, job))
    if (last.length !== 1) {
      const shown = own.map(({ attributes }) => JSON.stringify(attributes['job.status'])).join(', ')
      wrong.push(
        `${what}: ${last.length} spans have its last end (${job.status}); the statuses of all its spans: ${shown}`,
      )
    }
  }
  return wrong
}

function isRun(status: unknown): boolean {
  return status === 'success' || status === 'failed'
}

/**
 * Returns a condition for `OtlpReceiver.until`: the last end of every pipeline and of each of its jobs has arrived. A job that was observed late
 * arrives separately, after its pipeline. If a test stopped the daemon before that, the job would stay in the store. Each span is examined only once.
 */
export function complete(truths: readonly PipelineTruth[]): (spans: readonly ReceivedSpan[]) => boolean {
  const ended = truths.filter(({ ends }) => ends.length > 0)
  const pipelines = new Map(ended.map(truth => [truth.id, truth]))
  const jobs = new Map(ended.flatMap(truth => truth.jobs.map(job => [job.id, job])))
  let examined = 0
  return spans => {
    for (; examined < spans.length; examined += 1) {
      const span = spans[examined]
      if (span === undefined) continue
      const pipelineId = Number(span.attributes['pipeline.id'])
      const truth = pipelines.get(pipelineId)
      if (span.kind === 'server' && truth !== undefined && isLastEnd(span, truth)) pipelines.delete(pipelineId)
      const jobId = Number(span.attributes['job.id'])
      const job = jobs.get(jobId)
      if (span.kind === 'internal' && job !== undefined && isLastRun(span, job)) jobs.delete(jobId)
    }
    return pipelines.size === 0 && jobs.size === 0
  }
}
