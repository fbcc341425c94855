// Everything about one pipeline, for its page and the JSON API: family, usual durations, exports, spans, origin.
import { familyOf, type FamilyMember } from './family.ts'
import { runCard, type RunCard } from './run-card.ts'
import { sectionsOf, type JobSections } from '../jobs/job-sections.ts'
import type { ExportedSpan, PagesParts, PagesSettings } from '../ports.ts'
import type { Usual } from './usual.ts'
import type { ExportState } from '../../store/ports/views.ts'
import type { Millis } from '../../model/instant.ts'

export interface PipelineDetail {
  readonly pipeline: RunCard
  readonly family: FamilyMember
  /** The usual durations of the pipeline, and of its jobs by name; absent if no run has been counted. */
  readonly usual?: Usual | undefined
  readonly jobUsuals: Readonly<Record<string, Usual>>
  readonly firstSeenBy: readonly { readonly source: string; readonly at: Millis }[]
  readonly attempts: readonly {
    readonly attempt: number
    readonly status: string
    readonly finish: Millis
    readonly incomplete: boolean
  }[]
  readonly exports: readonly ExportState[]
  /** Spans that were exported or are pending. */
  readonly spans: readonly ExportedSpan[]
  /** The sections of jobs whose log was read. */
  readonly inside: readonly JobSections[]
  readonly traceId?: string | undefined
  /** The URL of the trace in the user's backend. */
  readonly traceUrl?: string | undefined
}

/** Jobs whose sections are read for the waterfall. The pages of other jobs have theirs. */
const mostReadings = 100
/** Jobs whose usual durations are read. The pages of other jobs have theirs. */
const mostUsuals = 1_000

/** Undefined if there is no such pipeline. */
export async function pipelineDetail(
  parts: PagesParts,
  { traceLink }: Pick<PagesSettings, 'traceLink'>,
  asked: { readonly projectId: number; readonly pipelineId: number; readonly instance?: string | undefined },
): Promise<PipelineDetail | undefined> {
  const stored = await parts.views.find(asked.projectId, asked.pipelineId, asked.instance)
  if (stored === undefined) return undefined
  const { key, attempts } = stored.run
  const pipeline = runCard(stored)
  const names = [...new Set(pipeline.jobs.map(job => job.name))].slice(0, mostUsuals)
  const [family, chunks, insides, exports, usuals] = await Promise.all([
    familyOf(parts, stored),
    parts.views.chunks(key),
    parts.views.sections(key, mostReadings),
    parts.views.outboxOf(key),
    parts.usuals.of(pipeline, ['', ...names]),
  ])
  const spans = parts.exported(chunks)
  const traceId = spans[0]?.traceId
  return {
    pipeline,
    family,
    usual: usuals.get(''),
    jobUsuals: Object.fromEntries([...usuals].filter(([name]) => name !== '')),
    firstSeenBy: Object.entries(stored.firstSeenBy)
      .map(([source, at]) => ({ source, at }))
      .sort((a, b) => a.at - b.at),
    attempts: attempts.map(({ attempt, status, finish, incomplete }) => ({ attempt, status, finish, incomplete })),
    exports,
    spans,
    inside: [...new Set(insides.map(({ job }) => job.id))].flatMap(id => sectionsOf(insides, id) ?? []),
    traceId,
    traceUrl: traceId === undefined ? undefined : traceLink?.replaceAll('{traceId}', traceId),
  }
}
