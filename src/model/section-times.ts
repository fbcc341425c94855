// The sections of one run of a job that are counted over time: the longest of a successful job, or those in which a job failed. Pure.
import { hasFailed, hasSucceeded } from './status.ts'
import type { JobInside, Section } from './inside.ts'

export interface SectionTime {
  readonly name: string
  /** Sum of all sections with this name. */
  readonly tookMs: number
  /** The job failed in it. Sections of the runner do not count: the job itself counts as failed. */
  readonly failed: boolean
  /** How many sections enclose it. */
  readonly depth: number
}

/** Sections of one run that are counted, the longest ones. */
const maxOfRun = 8
/** UTF-16 units, as scripts choose the names. */
const maxNameLength = 128

export function sectionTimes({ job, sections = [] }: Pick<JobInside, 'job' | 'sections'>): SectionTime[] {
  if (!hasSucceeded(job.status) && !hasFailed(job.status)) return []
  const isFailed = hasFailed(job.status)
  // A failure elsewhere may have cut the other sections short.
  const counted = isFailed ? sections.filter(one => one.failed === true && one.kind !== 'runner') : sections
  const parents = new Map(sections.map(({ ordinal, parent }) => [ordinal, parent]))
  const sums = new Map<string, SectionTime>()
  for (const section of counted) {
    const name = section.name.slice(0, maxNameLength)
    const known = sums.get(name)
    const tookMs = Math.max(0, Math.round(section.end - section.start)) + (known?.tookMs ?? 0)
    sums.set(name, { name, tookMs, failed: isFailed, depth: known?.depth ?? depthOf(section, parents) })
  }
  return [...sums.values()].sort((a, b) => b.tookMs - a.tookMs).slice(0, maxOfRun)
}

/** Ordinals are in the order of starts, so an enclosing section has a smaller one. */
function depthOf({ ordinal, parent }: Section, parents: ReadonlyMap<number, number | undefined>): number {
  let depth = 0
  for (let inner = ordinal, around = parent; around !== undefined && around < inner; around = parents.get(inner)) {
    depth += 1
    inner = around
  }
  return depth
}
