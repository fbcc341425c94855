// Finds the run to compare a pipeline with: the previous run, the last run that passed, or a run given by its number. A pipeline can also be compared
// with its usual durations.
import { z } from 'zod'
import { compareRuns, compareUsual, comparisonShape } from './comparison.ts'
import { runCard, runCardShape, startOf, type RunCard } from './run-card.ts'
import { wholeNumber } from '../layout/address.ts'
import type { PagesParts } from '../ports.ts'
import type { RunCursor, RunQuery } from '../../core/store/ports/views.ts'
import { usualShape } from './usual.ts'
import type { Shaped } from '../layout/shape.ts'

export const comparedNames = ['before', 'green', 'usual'] as const
export type ComparedWith = (typeof comparedNames)[number] | number

/** Parses the requested comparison: `before`, `green`, `usual` or a number such as `#123`. Returns undefined for anything else. */
export function comparedWith(text: string): ComparedWith | undefined {
  return comparedNames.find(name => name === text) ?? wholeNumber(text.replace(/^#/, ''))
}

export const comparedRunsShape = z.object({
  with: z.union([z.enum(comparedNames), z.number()]),
  pipeline: runCardShape,
  other: runCardShape
    .optional()
    .describe('Absent if there is no such pipeline, or if the comparison is with the usual durations.'),
  usual: usualShape.optional(),
  comparison: comparisonShape.optional().describe('Absent if there is nothing to compare with.'),
})
export type ComparedRuns = Shaped<typeof comparedRunsShape>

interface AskedComparison {
  readonly projectId: number
  readonly pipelineId: number
  readonly instance?: string | undefined
  readonly with: ComparedWith
}

/** Reads a pipeline and the run to compare it with. Returns undefined if there is no such pipeline. */
export async function comparedRuns(
  parts: Pick<PagesParts, 'views' | 'usuals' | 'clock'>,
  { projectId, pipelineId, instance, with: wanted }: AskedComparison,
): Promise<ComparedRuns | undefined> {
  const { views, usuals, clock } = parts
  const stored = await views.find(projectId, pipelineId, instance)
  if (stored === undefined) return undefined
  const pipeline = runCard(stored, clock)
  const found = { with: wanted, pipeline }
  if (wanted === 'usual') {
    const known = await usuals.of(pipeline, ['', ...new Set(pipeline.jobs.map(({ name }) => name))])
    const usual = known.get('')
    return usual === undefined ? found : { ...found, usual, comparison: compareUsual(pipeline, usual, known) }
  }
  const other = await otherOf()
  return other === undefined ? found : { ...found, other, comparison: compareRuns(pipeline, other) }

  async function otherOf(): Promise<RunCard | undefined> {
    if (typeof wanted === 'number') {
      const run = await views.find(projectId, wanted, pipeline.instance)
      return run && runCard(run, clock)
    }
    if (wanted === 'before') return earlier(parts, pipeline, { ref: pipeline.ref })
    const { defaultBranch } = stored?.run.project.facts ?? {}
    const green = await earlier(parts, pipeline, { ref: pipeline.ref, status: 'success' })
    if (green !== undefined || defaultBranch === undefined || defaultBranch === pipeline.ref) return green
    return earlier(parts, pipeline, { ref: defaultBranch, status: 'success' })
  }
}

/** Finds the newest pipeline with the same name that was created before this one. */
async function earlier(
  parts: Pick<PagesParts, 'views' | 'clock'>,
  { countedAs, ...own }: RunCard,
  wanted: { readonly ref: string | undefined; readonly status?: string },
): Promise<RunCard | undefined> {
  const until = own.createdAt ?? startOf(own)
  if (until === undefined) return undefined
  for await (const card of pipelinesBack(parts, own, { ...wanted, until }))
    if (card.countedAs === countedAs) return card
  return undefined
}

/** The maximum number of pipelines and of jobs to search. With these limits a page takes only milliseconds, however large the pipelines are. */
const maxPipelines = 50
const maxJobs = 5_000
const atOnce = 5

/** Yields a project's pipelines, newest first. */
export async function* pipelinesBack(
  { views, clock }: Pick<PagesParts, 'views' | 'clock'>,
  { instance, projectId, project }: Pick<RunCard, 'instance' | 'projectId' | 'project'>,
  wanted: Pick<RunQuery, 'ref' | 'status' | 'until'> = {},
): AsyncGenerator<RunCard> {
  let after: RunCursor | undefined
  let [pipelines, jobs] = [0, 0]
  do {
    const page = await views.search({ project, ...wanted, after, limit: atOnce })
    for (const card of page.runs.map(one => runCard(one, clock))) {
      // The instance is compared as well, because another instance may have a project with the same path.
      if (card.instance === instance && card.projectId === projectId) yield card
      pipelines += 1
      jobs += card.jobs.length
    }
    after = page.next
    // Each page of search results counts as one additional pipeline, so that the search also ends if no page contains a match.
    pipelines += 1
  } while (after !== undefined && pipelines < maxPipelines && jobs < maxJobs)
}
