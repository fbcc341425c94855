// Daily figures of the sections of jobs (durations and failures), added up in memory until they are written. Pure.
import { binOf } from '../../../lib/log-bins.ts'
import { countedName, type CountedChunk } from '../counting/counted-chunk.ts'
import { day, type TrendFigures } from '../counting/figures.ts'
import type { BranchClass } from '../../../model/pipeline.ts'
import type { Millis } from '../../../model/instant.ts'

export type SectionFigures = Pick<TrendFigures, 'runs' | 'failed' | 'durations'>

/** The sections of one job on one day. */
export interface SectionsOfDay {
  readonly instance: string
  readonly projectId: number
  readonly job: string
  readonly branch: BranchClass
  readonly bucket: Millis
  /** By name. */
  readonly sections: ReadonlyMap<string, SectionFigures>
}

type Sum = { -readonly [Name in keyof SectionFigures]: SectionFigures[Name] } & { durations: Record<string, number> }

/** The maximum of sections of one job on one day: a script may use other names in each run. */
export const maxNames = 20

export class SectionSums {
  readonly #days = new Map<string, SectionsOfDay & { readonly sections: Map<string, Sum> }>()
  #size = 0

  /** The number of rows to write. */
  get size(): number {
    return this.#size
  }

  add({ instance, projectId, branch, inside }: CountedChunk): void {
    if (inside === undefined || projectId <= 0) return
    const { job, endedAt } = inside
    const bucket = endedAt - (endedAt % day)
    const key = `${projectId} ${bucket} ${instance} ${branch}\n${job}`
    const those = this.#days.get(key)?.sections ?? new Map<string, Sum>()
    this.#days.set(key, { instance, projectId, job, branch, bucket, sections: those })
    for (const { name, tookMs, failed } of inside.sections) {
      const section = countedName(name)
      const sum = those.get(section) ?? { runs: 0, failed: 0, durations: {} }
      if (!those.has(section)) {
        if (those.size >= maxNames) continue
        this.#size += 1
        those.set(section, sum)
      }
      sum.runs += 1
      if (failed) sum.failed += 1
      const bin = binOf(tookMs)
      sum.durations[bin] = (sum.durations[bin] ?? 0) + 1
    }
  }

  days(): SectionsOfDay[] {
    return [...this.#days.values()]
  }
}
