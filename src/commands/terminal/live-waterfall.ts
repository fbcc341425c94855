// The waterfall of a pipeline of `pipespan top`, also while it runs: then its last jobs end now.
import { isActive, isTerminal } from '../../model/status.ts'
import { waterfall, type WaterfallOptions } from './waterfall.ts'
import type { LiveJob, LivePipeline } from './live-state.ts'
import type { WaterfallSpan } from '../../simulator/waterfall-span.ts'

/** Its lines. */
export function liveWaterfall(pipeline: LivePipeline, options: WaterfallOptions): string[] {
  const { name, ref = '', status, createdAt, finishedAt, platformNow, jobs } = pipeline
  const end = finishedAt ?? platformNow
  const root: WaterfallSpan = {
    ...{ name: `pipeline: ${name ?? ref}`, kind: 'pipeline', traceId: '', spanId: 'pipeline' },
    ...{ start: createdAt ?? end, end, status: spanStatusOf(status) },
    attributes: { 'pipeline.status': status, 'pipeline.stages': [...new Set(jobs.map(({ stage }) => stage))] },
  }
  return waterfall([root, ...jobs.map((job, index) => jobSpan(job, index, end))], options).split('\n')
}

function jobSpan(job: LiveJob, index: number, now: number): WaterfallSpan {
  const { name, kind, stage, status, allowFailure, retried, startedAt, finishedAt, queuedMs, failureReason } = job
  const ended = finishedAt ?? (isTerminal(status) ? (startedAt ?? now) : now)
  const waited = startedAt === undefined && isActive(status) ? now - (job.createdAt ?? now) : queuedMs
  return {
    ...{ name: `job: ${name}`, kind: 'job', traceId: '', spanId: `job ${index}`, parentSpanId: 'pipeline' },
    ...{ start: startedAt ?? ended, end: ended, status: spanStatusOf(status) },
    attributes: {
      ...{ 'job.status': status, 'job.stage': stage, 'job.type': kind, 'job.retried': retried },
      ...{ 'job.allow_failure': allowFailure, 'job.failure_reason': failureReason },
      'job.queued_duration': waited,
      ...(startedAt === undefined && { 'job.duration': 0 }),
    },
  }
}

function spanStatusOf(status: string): WaterfallSpan['status'] {
  return status === 'success' ? 'ok' : status === 'failed' ? 'error' : 'unset'
}
