// All that is known of one pipeline: its family, what was sent of it, where it came from.
import { familyOf, type FamilyMember } from './family.ts'
import { runCard, type RunCard } from './run-card.ts'
import { sectionsOf, type JobSections } from './job-sections.ts'
import type { ExportedSpan, PagesParts, PagesSettings } from './ports.ts'
import type { Usual } from './usual.ts'
import type { ExportState } from '../store/ports/views.ts'
import type { Millis } from '../model/instant.ts'

export interface PipelineDetail {
  readonly pipeline: RunCard
  readonly family: FamilyMember
  /** How long it usually takes, and each of its jobs by its name; undefined or absent: none of their runs has been counted. */
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
  /** Every span that was sent or is pending, with its attributes. */
  readonly spans: readonly ExportedSpan[]
  /** Sections of its jobs whose log was read. */
  readonly inside: readonly JobSections[]
  readonly traceId?: string | undefined
  /** The trace in the user's own backend. */
  readonly traceUrl?: string | undefined
}

/** Jobs that can be opened in its waterfall; the others' pages have their sections. */
const mostReadings = 100
/** Jobs beside which their usual stands; the others' pages have it. */
const mostUsuals = 1_000

/** Undefined when there is no such pipeline. */
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
