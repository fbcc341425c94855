// The usual run of a pipeline: one that took as long as the median. A pipeline is compared with it, because the medians of jobs do not add up to the median
// of their pipelines, but the jobs and waits of one run do.
import { days, minRuns, type Usual } from './usual.ts'
import { day } from '../../core/store/ports/trends.ts'
import { runCard, type RunCard } from './run-card.ts'
import type { PagesParts } from '../ports.ts'

/** Runs, and their jobs, that are read to find one of the same name and class of branches. */
const [maxRuns, maxJobs] = [50, 5_000]

/** Undefined if too few runs have been counted, or no such run is stored. */
export async function usualRunOf(
  { views, clocks, now }: Pick<PagesParts, 'views' | 'clocks' | 'now'>,
  { instance, pipelineId, projectId, project, ref, source }: RunCard,
  usual: Usual | undefined,
): Promise<RunCard | undefined> {
  if (usual?.p50 === undefined || usual.runs < minRuns) return undefined
  const { p50: tookMs, branch, pipelineName } = usual
  const since = now() - days * day
  const like = { instance, pipelineId, projectId, project, ref, source, tookMs, since }
  const clock = await clocks()
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
