// Sums of runner time and costs that are not yet stored, so that each row is written once for many chunks. Pure.
import { day } from '../counting/figures.ts'
import type { CostRow, CostSum } from './rows.ts'
import type { Millis } from '../../../model/instant.ts'
import type { CountedChunk, Used, WastedPurpose } from '../counting/counted-chunk.ts'

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

  /** The time of each job counts for its project, and by itself if it has a name. */
  add({ jobs = [], instance, projectId, project, branch }: CountedChunk): void {
    for (const { name, endedAt, used } of jobs) {
      if (used === undefined) continue
      const { ofProject, ofJobs, ...its } = this.#dayOf(instance, projectId, dayOf(endedAt))
      const { worker } = used
      this.#count(ofProject, `${branch} ${worker}`, used, { ...its, project, job: '', branch, worker })
      if (name !== '') this.#count(ofJobs, name, used, { ...its, project, job: name, branch: '', worker: '' })
    }
  }

  rows(): CostRow[] {
    return [...this.#days.values()].flatMap(({ ofProject, ofJobs }) => [...ofProject.values(), ...ofJobs.values()])
  }

  #dayOf(instance: string, projectId: number, bucket: Millis): Day {
    const last = this.#last
    if (last?.projectId === projectId && last.bucket === bucket && last.instance === instance) return last
    const name = `${projectId} ${bucket} ${instance}`
    const found = this.#days.get(name) ?? { bucket, projectId, instance, ofProject: new Map(), ofJobs: new Map() }
    this.#days.set(name, found)
    this.#last = found
    return found
  }

  #count(sums: Map<string, Sum>, name: string, used: Used, group: Omit<Sum, keyof CostTotal>): void {
    let sum = sums.get(name)
    if (sum === undefined) {
      sum = { ...group, ...noCosts() }
      sums.set(name, sum)
      this.#size += 1
    }
    sum.project = group.project
    countCost(sum, used)
  }
}

/** Its beginning. */
export function dayOf(at: Millis): Millis {
  return at - (at % day)
}

export function countCost(sum: CostTotal, used: Used): void {
  sum.runs += 1
  addCost(sum, used)
  if (used.wasted !== undefined) addCost(sum.wasted[used.wasted], used)
}

export function noCosts(): CostTotal {
  const none = (): Changing<CostSum> => ({ totalMs: 0, cost: 0 })
  return {
    ...{ runs: 0, totalMs: 0, cost: 0 },
    wasted: { retried: none(), superseded: none(), failed: none() },
  }
}

function addCost(sum: Changing<CostSum>, { totalMs, cost = 0 }: Used): void {
  sum.totalMs += totalMs
  sum.cost += cost
}
