// Daily figures of the sections of jobs (durations and failures), added up in memory until they are written. Pure.
import { binOf } from '../../../lib/log-bins.ts'
import { branchClassOf, type BranchClass } from '../../../model/pipeline.ts'
import { day, trendJob, type TrendFigures } from '../ports/trends.ts'
import { sectionTimes } from '../../../model/section-times.ts'
import type { Chunk } from '../../../model/chunk.ts'
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

  /** Ignores chunks without sections. */
  add({ key: { instance }, project, pipeline, inside }: Chunk): void {
    if (inside?.sections === undefined || project.id <= 0) return
    const job = trendJob(inside.job.name ?? '')
    const times = sectionTimes(inside)
    if (job === '' || times.length === 0) return
    const branch = branchClassOf(pipeline.facts, project)
    const bucket = inside.job.end - (inside.job.end % day)
    const key = `${project.id} ${bucket} ${instance} ${branch}\n${job}`
    const those = this.#days.get(key)?.sections ?? new Map<string, Sum>()
    this.#days.set(key, { instance, projectId: project.id, job, branch, bucket, sections: those })
    for (const { name, tookMs, failed } of times) {
      const section = trendJob(name)
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
