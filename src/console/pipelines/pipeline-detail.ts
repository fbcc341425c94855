// Everything about one pipeline, for its page and the JSON API: its family, usual durations, exports, spans, and origin.
import { z } from 'zod'
import { exportedSpanShape } from '../layout/attributes.ts'
import { runCard, runCardShape, type RunCard } from './run-card.ts'
import { jobSectionsShape, sectionsOf } from '../jobs/job-sections.ts'
import { millis, type Shaped } from '../layout/shape.ts'
import { usualShape, days, minRuns, type Usual } from './usual.ts'
import { failedTestsOf, verdictOfRun, verdictShape } from './verdict.ts'
import { day } from '../layout/trend-spans.ts'
import { maxGenerations, parentOf } from '../../model/family.ts'
import type { PagesParts, PagesSettings } from '../ports.ts'
import type { ExportState } from '../../core/store/ports/views.ts'
import type { StoredRun } from '../../core/store/ports/runs.ts'
import type { Signal } from '../../core/store/ports/outbox.ts'

// A member of a pipeline's family, which consists of the root pipeline and all pipelines it triggered, directly or indirectly.
const familyMemberShape = z
  .object({
    card: runCardShape,
    triggeredBy: z.number().optional(),
    get children() {
      return z.array(familyMemberShape)
    },
    left: z.number(),
  })
  .meta({ id: 'FamilyMember' })
export type FamilyMember = Shaped<typeof familyMemberShape>

const maxMembers = 60

/** Reads the root pipeline with all stored pipelines below it. */
async function familyOf(parts: Pick<PagesParts, 'views' | 'runs' | 'clock'>, asked: StoredRun): Promise<FamilyMember> {
  let root = asked
  for (let generation = 0; generation < maxGenerations; generation += 1) {
    const parent = parentOf(root.run)
    if (parent === undefined) break
    const found = await parts.runs.get({ instance: root.run.key.instance, pipelineId: parent.pipelineId })
    if (found?.run.pipeline === undefined) break
    root = found
  }
  const seen = new Set<number>()
  const grow = async (run: StoredRun): Promise<FamilyMember> => {
    seen.add(run.run.key.pipelineId)
    const children: FamilyMember[] = []
    let left = 0
    for (const child of await parts.views.children(run.run.key)) {
      if (seen.has(child.run.key.pipelineId)) continue
      if (seen.size >= maxMembers) left += 1
      else children.push(await grow(child))
    }
    return { card: runCard(run, parts.clock), triggeredBy: parentOf(run.run)?.jobId, children, left }
  }
  return grow(root)
}

/** Returns the family member and all members below it. */
export function membersOf(member: FamilyMember): FamilyMember[] {
  return [member, ...member.children.flatMap(membersOf)]
}

// A pipeline's usual run is one that took as long as the median. A pipeline is compared with an actual run because the jobs and waits of one run add
// up to its duration. The medians of the jobs do not add up to the median of the pipeline.

/** The maximum number of runs and of jobs read to find a run with the same name and branch class. */
const [maxRuns, maxJobs] = [50, 5_000]

/** Finds a pipeline's usual run. Returns undefined if too few runs have been counted or no such run is stored. */
async function usualRunOf(
  { views, clock, now }: Pick<PagesParts, 'views' | 'clock' | 'now'>,
  { instance, pipelineId, projectId, project, ref, source }: RunCard,
  usual: Usual | undefined,
): Promise<RunCard | undefined> {
  if (usual?.p50 === undefined || usual.runs < minRuns) return undefined
  const { p50: tookMs, branch, pipelineName } = usual
  const since = now() - days * day
  const like = { instance, pipelineId, projectId, project, ref, source, tookMs, since }
  let seen = 0
  for (const found of await views.tookAbout(like, maxRuns)) {
    if (seen > maxJobs) break
    const stored = await views.find(projectId, found.pipelineId, found.instance)
    const card = stored && runCard(stored, clock)
    if (card === undefined) continue
    seen += card.jobs.length
    if (branch !== undefined && card.branchClass !== branch) continue
    if (pipelineName === undefined || card.countedAs === pipelineName) return card
  }
  return undefined
}

export const pipelineDetailShape = z.object({
  pipeline: runCardShape,
  verdict: verdictShape.optional(),
  family: familyMemberShape,
  usual: usualShape.optional(),
  jobUsuals: z.record(z.string(), usualShape).describe('Usual durations of the jobs of the pipeline, by job name.'),
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
  inside: z.array(jobSectionsShape).describe('Sections of the jobs of the pipeline whose logs were read.'),
  traceId: z.string().optional(),
  traceUrl: z.string().optional(),
})
export type PipelineDetail = Shaped<typeof pipelineDetailShape>

/** The maximum number of jobs whose sections are read for the waterfall. A job's own page always has its sections. */
const maxReadings = 100
/** The maximum number of jobs whose usual durations are read. A job's own page always has its usual duration. */
const maxUsuals = 1_000

/** Returns undefined if there is no such pipeline. */
export async function pipelineDetail(
  parts: PagesParts,
  { traceLink }: Pick<PagesSettings, 'traceLink'>,
  asked: { readonly projectId: number; readonly pipelineId: number; readonly instance?: string | undefined },
): Promise<PipelineDetail | undefined> {
  const stored = await parts.views.find(asked.projectId, asked.pipelineId, asked.instance)
  if (stored === undefined) return undefined
  const { key, attempts } = stored.run
  const pipeline = runCard(stored, parts.clock)
  const names = [...new Set(pipeline.jobs.map(job => job.name))].slice(0, maxUsuals)
  const [family, chunks, insides, exports, usuals, tests] = await Promise.all([
    familyOf(parts, stored),
    parts.views.chunks(key),
    parts.views.sections(key, maxReadings),
    parts.views.outboxOf(key),
    parts.usuals.of(pipeline, ['', ...names]),
    failedTestsOf(parts, key, pipeline, pipeline.failures),
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
