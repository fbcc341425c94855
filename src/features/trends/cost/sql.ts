// The SQL for costs. It adds rows to the stored ones and reads their sums. Costs by exact branch and by runner are computed from the stored runs,
// because the daily sums contain neither.
import { countCost, dayOf, noCosts, wastedPurposes } from './rows.ts'
import type { CostGroup, CostReads, CostRow, CostTotal, RetainedCostQuery } from './rows.ts'
import { countedOf, type Used } from '../counting/counted-chunk.ts'
import { day } from '../counting/figures.ts'
import { forRows, type StepValue } from '../../../core/store/sql/steps.ts'
import { inScope } from '../../../core/store/ports/project-scope.ts'
import { number, optional, text, type Row } from '../../../core/store/sql/columns.ts'
import { readRetained, type CountChunk } from '../reading/stored-runs.ts'
import type { Chunk } from '../../../model/chunk.ts'
import type { CostLine, CostSum, RetainedCosts, RunnerCostLine } from './shape.ts'
import type { Reading } from '../../../core/store/sql/reading.ts'
import type { Reads } from '../../../core/store/ports/reads.ts'
import type { Value } from '../../../core/store/sql/statements.ts'

const key = 'bucket, project_id, job, instance, branch, worker'
/** The summed columns of the `costs` table. */
const sums = ['runs', 'total_ms', 'cost', ...wastedPurposes.flatMap(purpose => [`${purpose}_ms`, `${purpose}_cost`])]

/** Columns of the `costs` table that are no longer used and stay 0. */
const unused = ['flaky_ms', 'flaky_cost']

/** Adds cost rows (`costValues`) to the stored rows with the same keys. */
export const addCosts = forRows(
  [
    ...(['bigint', 'bigint', 'text', 'text', 'text', 'text', 'text'] as const),
    ...(['bigint', 'bigint', 'double precision'] as const),
    ...wastedPurposes.flatMap(() => ['bigint', 'double precision'] as const),
    ...(['bigint', 'double precision'] as const),
  ],
  ({ rows }) => `
  INSERT INTO costs (${key}, project, ${[...sums, ...unused].join(', ')}) ${rows}
  ON CONFLICT (${key}) DO UPDATE SET
    project = excluded.project, ${sums.map(name => `${name} = costs.${name} + excluded.${name}`).join(', ')}`,
)

export function costValues(row: CostRow): StepValue[] {
  const { bucket, projectId, job, instance, branch, worker, project, runs, totalMs, cost, wasted } = row
  const ofWasted = wastedPurposes.flatMap(purpose => [wasted[purpose].totalMs, wasted[purpose].cost])
  const its = [bucket, projectId, job, instance, branch, worker, project]
  return [...its, runs, totalMs, cost, ...ofWasted, ...unused.map(() => 0)]
}

/**
 * The expressions by which costs are grouped, as in trends. If costs were grouped by bare columns, SQLite would scan the primary key, which has the
 * same order, instead of using the index on time.
 */
const groups: Readonly<Record<CostGroup, readonly string[]>> = {
  total: [],
  project: ['project_id + 0 AS project_id', `instance || '' AS instance`],
  place: ['project_id + 0 AS project_id', `instance || '' AS instance`, `branch || '' AS name`],
  job: ['project_id + 0 AS project_id', `instance || '' AS instance`, `job || '' AS name`],
  branch: [`branch || '' AS name`],
  worker: [`worker || '' AS name`],
  day: ['bucket + 0 AS bucket'],
}

const wastedSums = wastedPurposes
  .map(purpose => `CAST(sum(${purpose}_ms) AS bigint) AS ${purpose}_ms, sum(${purpose}_cost) AS ${purpose}_cost`)
  .join(', ')

/** Reads costs, limited to the projects that the user may see. */
export function costsIn({ on }: Pick<Reads, 'on'>): CostReads {
  return on(costsOn)
}

export function costsOn(reading: Reading): CostReads {
  const { ask } = reading
  return {
    retained: retainedCostsOn(reading),
    lines: async (by, query, limit) => {
      const { since, until, instance, projectId, group } = query
      const values: Value[] = [since, until, limit]
      const place = (value: Value): string => `?${values.push(value)}`
      const scope = [
        ...(projectId === undefined ? [] : [`AND project_id = ${place(projectId)}`]),
        ...(instance === undefined ? [] : [`AND instance = ${place(instance)}`]),
        ...(group === undefined ? [] : [`AND ${inScope('project', group, place)}`]),
      ].join(' ')
      const own = groups[by]
      const isOfOne = projectId !== undefined || by === 'project' || by === 'place' || by === 'job'
      const grouping = own.length === 0 ? '' : `GROUP BY ${own.map(one => one.replace(/ AS .*$/, '')).join(', ')}`
      const rows = await ask(
        `SELECT ${[...own, ''].join(', ')} ${isOfOne ? 'max(project)' : `''`} AS project,
                CAST(sum(runs) AS bigint) AS runs, CAST(sum(total_ms) AS bigint) AS total_ms, sum(cost) AS cost, ${wastedSums}
         FROM costs WHERE job ${by === 'job' ? '<>' : '='} '' AND bucket >= ?1 AND bucket < ?2 AND {visible} ${scope}
         ${grouping} HAVING count(*) > 0
         ORDER BY ${by === 'day' ? 'bucket + 0' : 'sum(cost) DESC, sum(total_ms) DESC'} LIMIT ?3`,
        values,
      )
      return rows.map(lineOf)
    },
  }
}

const runsOf = number('runs')
const msOf = number('total_ms')
const costOf = number('cost')
const projectOf = text('project')

function lineOf(row: Row): CostLine {
  const known = (name: string): number | undefined =>
    Object.hasOwn(row, name) ? optional(number, name)(row) : undefined
  return {
    ...(Object.hasOwn(row, 'instance') && { instance: text('instance')(row) }),
    ...{ projectId: known('project_id'), project: projectOf(row), bucket: known('bucket') },
    name: Object.hasOwn(row, 'name') ? text('name')(row) : '',
    ...{ runs: runsOf(row), totalMs: msOf(row), cost: costOf(row) },
    wasted: {
      retried: sumOf(row, 'retried'),
      superseded: sumOf(row, 'superseded'),
      failed: sumOf(row, 'failed'),
    },
  }
}

function sumOf(row: Row, purpose: string): CostSum {
  return { totalMs: number(`${purpose}_ms`)(row), cost: number(`${purpose}_cost`)(row) }
}

const maxRuns = 5_000
/** The assumed maximum age of a pipeline when one of its jobs ends, ms. Few pipelines are older than that. */
const maxPipelineAge = 7 * day
/** The maximum number of paths read for one project. Projects are rarely renamed. */
const maxPaths = 20

export function retainedCostsOn(reading: Reading): CostReads['retained'] {
  return async query => {
    const { since, until, instance, projectId, group, limit, max = maxRuns } = query
    const sums = new RetainedSums()
    const paths = projectId === undefined ? undefined : await pathsOf(reading, query)
    const runs = { since: since - maxPipelineAge, until, finishedSince: since, instance, projectId, paths, group, max }
    const [oldest, { backTo }] = await Promise.all([
      reading.ask('SELECT created_at FROM listed_runs WHERE {visible} ORDER BY created_at LIMIT 1'),
      readRetained(reading, runs, countInto(sums, query)),
    ])
    const storedSince = oldest.map(number('created_at'))[0]
    return { ...sums.found(limit), storedSince, backTo }
  }
}

/** Returns the paths under which the daily sums list the project. */
async function pathsOf(
  { ask }: Reading,
  { since, until, projectId = 0 }: RetainedCostQuery,
): Promise<readonly string[]> {
  const rows = await ask(
    `SELECT DISTINCT project FROM costs WHERE job = '' AND bucket >= ?1 AND bucket < ?2 AND project_id = ?3 AND {visible} LIMIT ${maxPaths}`,
    [since - maxPipelineAge, until, projectId],
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

  /**
   * Adds the costs of those jobs of a chunk that ran on one runner. The chunks of the newest pipelines are added first, so the newest names are used.
   */
  add(
    { key, project, pipeline }: Chunk,
    path: string,
    runner: Chunk['jobs'][number]['runner'],
    costs: readonly Used[],
  ): void {
    const worker = costs[0]?.worker ?? ''
    const ref = pipeline.facts.ref ?? ''
    const branch = sumIn(this.#branches, `${project.id} ${key.instance}\n${ref}`, () => ({
      ...{ projectId: project.id, project: path, name: ref, ...noCosts() },
    }))
    const ofRunner = sumIn(this.#runners, `${runner?.id ?? ''} ${key.instance}`, () => ({
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

function sumIn<T>(sums: Map<string, T>, name: string, empty: () => T): T {
  const known = sums.get(name) ?? empty()
  sums.set(name, known)
  return known
}
