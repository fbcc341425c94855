// Costs of chunks that were read but not yet written, added up in memory so that each row is written once for many chunks. Pure.
import { costsOf, type CostRow, type CostSum, type JobCost, type WastedPurpose } from '../ports/costs.ts'
import type { Chunk } from '../../../model/chunk.ts'

type Changing<T> = { -readonly [Name in keyof T]: T[Name] }
/** The sums of the jobs of one row. */
export type CostTotal = Changing<Pick<CostRow, 'runs' | 'totalMs' | 'cost'>> & {
  readonly wasted: Readonly<Record<WastedPurpose, Changing<CostSum>>>
}
type Sum = Changing<Omit<CostRow, 'wasted'>> & CostTotal

/** The sums of one project's day. */
interface Day extends Pick<CostRow, 'bucket' | 'projectId' | 'instance'> {
  /** By branch class and runner type. */
  readonly ofProject: Map<string, Sum>
  readonly ofJobs: Map<string, Sum>
}

export class CostSums {
  readonly #days = new Map<string, Day>()
  /** The jobs of one chunk mostly belong to one day. */
  #last: Day | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  add(chunk: Chunk): void {
    for (const cost of costsOf(chunk)) {
      const { ofProject, ofJobs } = this.#dayOf(cost)
      this.#count(ofProject, `${cost.branch} ${cost.worker}`, cost, 'project')
      if (cost.job !== '') this.#count(ofJobs, cost.job, cost, 'job')
    }
  }

  rows(): CostRow[] {
    return [...this.#days.values()].flatMap(({ ofProject, ofJobs }) => [...ofProject.values(), ...ofJobs.values()])
  }

  #dayOf({ bucket, projectId, instance }: JobCost): Day {
    const last = this.#last
    if (last?.projectId === projectId && last.bucket === bucket && last.instance === instance) return last
    const name = `${projectId} ${bucket} ${instance}`
    const found = this.#days.get(name) ?? { bucket, projectId, instance, ofProject: new Map(), ofJobs: new Map() }
    this.#days.set(name, found)
    this.#last = found
    return found
  }

  #count(sums: Map<string, Sum>, name: string, cost: JobCost, of: 'project' | 'job'): void {
    let sum = sums.get(name)
    if (sum === undefined) {
      sum = emptySum(cost, of)
      sums.set(name, sum)
      this.#size += 1
    }
    sum.project = cost.project
    countCost(sum, cost)
  }
}

export function countCost(sum: CostTotal, cost: JobCost): void {
  sum.runs += 1
  addCost(sum, cost)
  if (cost.wasted !== undefined) addCost(sum.wasted[cost.wasted], cost)
}

export function noCosts(): CostTotal {
  const none = (): Changing<CostSum> => ({ totalMs: 0, cost: 0 })
  return {
    ...{ runs: 0, totalMs: 0, cost: 0 },
    wasted: { retried: none(), superseded: none(), failed: none() },
  }
}

function emptySum(of: JobCost, what: 'project' | 'job'): Sum {
  const { bucket, projectId, instance, project, job, branch, worker } = of
  return {
    ...{ bucket, projectId, instance, project },
    ...(what === 'project' ? { job: '', branch, worker } : { job, branch: '' as const, worker: '' }),
    ...noCosts(),
  }
}

function addCost(sum: Changing<CostSum>, { totalMs, cost }: CostSum): void {
  sum.totalMs += totalMs
  sum.cost += cost
}
