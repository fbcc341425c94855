// Costs computed from the stored runs: by exact branch and by runner, which the daily sums do not have.
import { countCost, dayOf, noCosts, type CostTotal } from './sums.ts'
import { countedOf, type Used } from '../counting/counted-chunk.ts'
import { day } from '../counting/figures.ts'
import { number, text } from '../../../core/store/sql/columns.ts'
import { readRetained, type CountChunk } from '../reading/stored-runs.ts'
import type { Reading } from '../../../core/store/sql/reading.ts'
import type { Chunk } from '../../../model/chunk.ts'
import type { CostLine, CostReads, RetainedCostQuery, RetainedCosts, RunnerCostLine } from './rows.ts'

const maxRuns = 5_000
/** When a job ends, its pipeline is rarely older than this, ms. */
const olderBy = 7 * day
/** A project is rarely renamed. */
const maxPaths = 20

export function retainedCostsOn(reading: Reading): CostReads['retained'] {
  return async query => {
    const { since, until, projectId, group, limit, max = maxRuns } = query
    const sums = new RetainedSums()
    const paths = projectId === undefined ? undefined : await pathsOf(reading, query)
    const runs = { since: since - olderBy, until, finishedSince: since, projectId, paths, group, max }
    const [oldest, { backTo }] = await Promise.all([
      reading.ask('SELECT created_at FROM listed_runs WHERE {visible} ORDER BY created_at LIMIT 1'),
      readRetained(reading, runs, countInto(sums, query)),
    ])
    const storedSince = oldest.map(number('created_at'))[0]
    return { ...sums.found(limit), storedSince, backTo }
  }
}

/** The paths of the project in the daily sums. */
async function pathsOf(
  { ask }: Reading,
  { since, until, projectId = 0 }: RetainedCostQuery,
): Promise<readonly string[]> {
  const rows = await ask(
    `SELECT DISTINCT project FROM costs WHERE job = '' AND bucket >= ?1 AND bucket < ?2 AND project_id = ?3 AND {visible} LIMIT ${maxPaths}`,
    [since - olderBy, until, projectId],
  )
  return rows.map(text('project'))
}

function countInto(sums: RetainedSums, { since, until }: RetainedCostQuery): CountChunk {
  return (chunk, failures) => {
    for (const jobs of Map.groupBy(chunk.jobs, ({ runner }) => runner?.id).values()) {
      const counted = countedOf({ ...chunk, jobs }, failures)
      const those = (counted?.jobs ?? []).flatMap(({ endedAt, used }) =>
        used !== undefined && dayOf(endedAt) >= since && dayOf(endedAt) < until ? [used] : [],
      )
      if (counted !== undefined && those.length > 0) sums.add(chunk, counted.project, jobs[0]?.runner, those)
    }
  }
}

type Sum<Line> = Omit<Line, keyof CostTotal> & CostTotal

class RetainedSums {
  readonly #branches = new Map<string, Sum<CostLine>>()
  readonly #runners = new Map<string, Sum<RunnerCostLine>>()
  readonly #pipelines = new Set<string>()
  readonly #total = noCosts()

  /** Jobs of a chunk that one runner ran. The newest pipelines come first, so their names are used. */
  add(
    { key, project, pipeline }: Chunk,
    path: string,
    runner: Chunk['jobs'][number]['runner'],
    costs: readonly Used[],
  ): void {
    const worker = costs[0]?.worker ?? ''
    const ref = pipeline.facts.ref ?? ''
    const branch = sumOf(this.#branches, `${project.id} ${key.instance}\n${ref}`, () => ({
      ...{ projectId: project.id, project: path, name: ref, ...noCosts() },
    }))
    const ofRunner = sumOf(this.#runners, `${runner?.id ?? ''} ${key.instance}`, () => ({
      ...{ runnerId: runner?.id, worker, project: '', name: runner?.description ?? '', ...noCosts() },
    }))
    for (const cost of costs) for (const sum of [branch, ofRunner, this.#total]) countCost(sum, cost)
    this.#pipelines.add(`${key.pipelineId} ${key.instance}`)
  }

  found(limit: number): Omit<RetainedCosts, 'storedSince' | 'backTo'> {
    const dearest = <Line extends CostLine>(sums: ReadonlyMap<string, Line>): Line[] =>
      [...sums.values()]
        .sort((a, b) => b.cost - a.cost || b.totalMs - a.totalMs || (a.name < b.name ? -1 : 1))
        .slice(0, limit)
    return {
      ...{ branches: dearest(this.#branches), runners: dearest(this.#runners) },
      ...{ total: this.#total, pipelines: this.#pipelines.size },
    }
  }
}

function sumOf<T>(sums: Map<string, T>, name: string, empty: () => T): T {
  const known = sums.get(name) ?? empty()
  sums.set(name, known)
  return known
}
