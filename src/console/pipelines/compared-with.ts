// Finds what a pipeline is compared with: the previous run, the last one that passed, a run by its number, or the usual durations.
import { z } from 'zod'
import { compareRuns, compareUsual, comparisonShape } from './comparison.ts'
import { runCard, runCardShape, startOf, type RunCard } from './run-card.ts'
import type { PlatformNow } from './platform-clock.ts'
import { wholeNumber } from '../layout/address.ts'
import type { PagesParts } from '../ports.ts'
import type { RunCursor } from '../../core/store/ports/views.ts'
import { usualShape } from './usual.ts'
import type { Shaped } from '../layout/shape.ts'

export const comparedNames = ['before', 'green', 'usual'] as const
export type ComparedWith = (typeof comparedNames)[number] | number

/** Parses `before`, `green`, `usual` or a number such as `#123`; undefined for anything else. */
export function comparedWith(text: string): ComparedWith | undefined {
  return comparedNames.find(name => name === text) ?? wholeNumber(text.replace(/^#/, ''))
}

export const comparedRunsShape = z.object({
  with: z.union([z.enum(comparedNames), z.number()]),
  pipeline: runCardShape,
  other: runCardShape.optional().describe('Absent: there is none, or it is compared with what is usual.'),
  usual: usualShape.optional(),
  comparison: comparisonShape.optional().describe('Absent: there is nothing to compare with.'),
})
export type ComparedRuns = Shaped<typeof comparedRunsShape>

interface AskedComparison {
  readonly projectId: number
  readonly pipelineId: number
  readonly instance?: string | undefined
  readonly with: ComparedWith
}

/** How many pipelines and jobs are searched, so that a page takes only milliseconds however large they are. */
const maxPipelines = 50
const maxJobs = 5_000
const atOnce = 5

/** Undefined if there is no such pipeline. */
export async function comparedRuns(
  { views, usuals, clocks }: Pick<PagesParts, 'views' | 'usuals' | 'clocks'>,
  { projectId, pipelineId, instance, with: wanted }: AskedComparison,
): Promise<ComparedRuns | undefined> {
  const stored = await views.find(projectId, pipelineId, instance)
  if (stored === undefined) return undefined
  const clock = await clocks()
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
    if (wanted === 'before') return earlier(views, clock, pipeline, { ref: pipeline.ref })
    const { defaultBranch } = stored?.run.project.facts ?? {}
    const green = await earlier(views, clock, pipeline, { ref: pipeline.ref, status: 'success' })
    if (green !== undefined || defaultBranch === undefined || defaultBranch === pipeline.ref) return green
    return earlier(views, clock, pipeline, { ref: defaultBranch, status: 'success' })
  }
}

/** The newest pipeline that was created before it and has the same name. */
async function earlier(
  views: PagesParts['views'],
  clock: PlatformNow,
  { instance, projectId, project, countedAs, ...own }: RunCard,
  wanted: { readonly ref: string | undefined; readonly status?: string },
): Promise<RunCard | undefined> {
  const until = own.createdAt ?? startOf(own)
  if (until === undefined) return undefined
  let after: RunCursor | undefined
  let [pipelines, seen] = [0, 0]
  do {
    const page = await views.search({ project, ...wanted, until, after, limit: atOnce })
    for (const card of page.runs.map(one => runCard(one, clock))) {
      // Another instance may have a project with the same path.
      if (card.instance === instance && card.projectId === projectId && card.countedAs === countedAs) return card
      pipelines += 1
      seen += card.jobs.length
    }
    after = page.next
    // A page of the search counts as one more, so that pages without a match end, too.
    pipelines += 1
  } while (after !== undefined && pipelines < maxPipelines && seen < maxJobs)
  return undefined
}
