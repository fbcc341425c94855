// Everything about one pipeline, for its page and the JSON API: family, usual durations, exports, spans, origin.
import { z } from 'zod'
import { exportedSpanShape } from './exported-span.ts'
import { familyMemberShape, familyOf } from './family.ts'
import { runCard, runCardShape } from './run-card.ts'
import { jobSectionsShape, sectionsOf } from '../jobs/job-sections.ts'
import { millis, type Shaped } from '../layout/shape.ts'
import { failedTestsOf } from './failed-tests.ts'
import { usualRunOf } from './usual-run.ts'
import { usualShape } from './usual.ts'
import { verdictOfRun, verdictShape } from './verdict.ts'
import type { PagesParts, PagesSettings } from '../ports.ts'
import type { ExportState } from '../../core/store/ports/views.ts'
import type { Signal } from '../../core/store/ports/runs.ts'

export const pipelineDetailShape = z.object({
  pipeline: runCardShape,
  verdict: verdictShape.optional(),
  family: familyMemberShape,
  usual: usualShape.optional(),
  jobUsuals: z.record(z.string(), usualShape).describe('Usual durations of its jobs, by job name.'),
  firstSeenBy: z.array(z.object({ source: z.string(), at: millis })),
  attempts: z.array(z.object({ attempt: z.number(), status: z.string(), finish: millis, incomplete: z.boolean() })),
  exports: z.array(
    z.object({
      id: z.number(),
      attempt: z.number(),
      chunk: z.number(),
      signal: z.string<Signal>(),
      destination: z.string(),
      state: z.enum(['pending', 'dead']),
      pendingSince: millis,
      settledAt: millis.optional(),
      tries: z.number(),
      error: z.string().optional(),
    }) satisfies z.ZodType<ExportState>,
  ),
  spans: z.array(exportedSpanShape),
  inside: z.array(jobSectionsShape).describe('Sections of its jobs whose log was read.'),
  traceId: z.string().optional(),
  traceUrl: z.string().optional(),
})
export type PipelineDetail = Shaped<typeof pipelineDetailShape>

/** Jobs whose sections are read for the waterfall. The pages of other jobs have theirs. */
const maxReadings = 100
/** Jobs whose usual durations are read. The pages of other jobs have theirs. */
const maxUsuals = 1_000

/** Undefined if there is no such pipeline. */
export async function pipelineDetail(
  parts: PagesParts,
  { traceLink }: Pick<PagesSettings, 'traceLink'>,
  asked: { readonly projectId: number; readonly pipelineId: number; readonly instance?: string | undefined },
): Promise<PipelineDetail | undefined> {
  const stored = await parts.views.find(asked.projectId, asked.pipelineId, asked.instance)
  if (stored === undefined) return undefined
  const { key, attempts } = stored.run
  const pipeline = runCard(stored, await parts.clocks())
  const names = [...new Set(pipeline.jobs.map(job => job.name))].slice(0, maxUsuals)
  const [family, chunks, insides, exports, usuals, tests] = await Promise.all([
    familyOf(parts, stored),
    parts.views.chunks(key),
    parts.views.sections(key, maxReadings),
    parts.views.outboxOf(key),
    parts.usuals.of(pipeline, ['', ...names]),
    failedTestsOf(parts, key, pipeline),
  ])
  const spans = parts.exported(chunks)
  const traceId = spans[0]?.traceId
  const usual = usuals.get('')
  const jobUsuals = Object.fromEntries([...usuals].filter(([name]) => name !== ''))
  return {
    pipeline,
    verdict: verdictOfRun(pipeline, { usual, usualRun: await usualRunOf(parts, pipeline, usual), tests }),
    family,
    usual,
    jobUsuals,
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
