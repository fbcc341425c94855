// Rebuilds the chunks of a run's snapshots as they were exported, from the run's attempts and from its jobs with the marks of their spans. Pure.
//
// A rebuilt job has all facts that are known now, which may be more than its exported span contained. Its times, its status and everything derived
// from them are those of the exported span.
import { spansOf, viewSpan, type Job, type SpanMark } from './job.ts'
import type { Attempt, Run } from './run.ts'
import type { Chunk, JobSnapshot } from './chunk.ts'

/** The run's chunks in order, without job internals. Empty if nothing of the run was exported, or if only its tombstone is left. */
export function chunksOf(run: Run): Chunk[] {
  const attempts = run.attempts.filter(({ exported }) => exported !== undefined)
  if (attempts.length === 0) return []
  const jobs = [...run.jobs.values()].sort((a, b) => a.id - b.id)
  const spans = jobs.flatMap(job =>
    job.snapshot === undefined ? [] : spansOf(job.snapshot).map(span => ({ job, span })),
  )
  const byAttempt = Map.groupBy(spans, ({ span }) => span.attempt)
  return attempts.flatMap(attempt => chunksOfAttempt(run, attempt, byAttempt.get(attempt.attempt) ?? []))
}

interface Span {
  readonly job: Job
  readonly span: SpanMark
}

function chunksOfAttempt(run: Run, attempt: Attempt, spans: readonly Span[]): Chunk[] {
  const { exported, trace } = attempt
  if (exported === undefined) return []
  const byChunk = Map.groupBy(spans, ({ span }) => span.chunk ?? 0)
  const first = Array.from({ length: exported.chunks }, (_, at) => at + 1)
  const numbers = [...new Set([...first, ...byChunk.keys()])].filter(number => number > 0).sort((a, b) => a - b)
  const { verdict: _, durations: __, ...further } = exported.pipeline
  const { computeMs: ___, cost: ____, ...late } = further
  return numbers.map(number => {
    const jobs = (byChunk.get(number) ?? []).map(({ job, span }) => jobSnapshot(job, span, attempt))
    const own = { key: run.key, project: run.project.facts, attempt: attempt.attempt, number, trace, jobs }
    if (number > exported.chunks) {
      const { finish } = attempt
      return { ...own, kind: 'supplement', pipeline: { ...late, start: finish, end: finish, jobCount: jobs.length } }
    }
    return { ...own, kind: 'attempt', pipeline: number === 1 ? exported.pipeline : further }
  })
}

function jobSnapshot(job: Job, span: SpanMark, { finish }: Attempt): JobSnapshot {
  const view = viewSpan(job, span)
  const end = view.finishedAt ?? finish
  const start = view.startedAt ?? end
  const { retried = false, critical, slack, rate, cost, deploymentId, salt } = span
  return {
    ...view,
    ...{ start, end: Math.max(start, end), retried },
    ...(critical === undefined ? {} : { critical }),
    ...(slack === undefined ? {} : { slack }),
    ...(rate === undefined ? {} : { rate }),
    ...(cost === undefined ? {} : { cost }),
    ...(deploymentId === undefined ? {} : { deploymentId }),
    ...(salt === undefined ? {} : { salt }),
  }
}
