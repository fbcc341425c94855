// How long the sections of one run of a job took, as they are counted and judged over time: of a job that ended well the longest, of one
// that failed those in which it did. Pure.
import type { JobInside, Section } from './inside.ts'

export interface SectionTime {
  readonly name: string
  /** Of all sections of this name together, ms. */
  readonly tookMs: number
  /** The job failed in it. The runner's own are left out: that its script failed is said of the job. */
  readonly failed: boolean
  /** How many sections are around it. */
  readonly depth: number
}

/** Of one run of a job: what takes most of its time is among them. */
const mostOfRun = 8
/** Names are of the job's script, UTF-16 units. */
const longestName = 128

export function sectionTimes({ job, sections = [] }: Pick<JobInside, 'job' | 'sections'>): SectionTime[] {
  if (job.status !== 'success' && job.status !== 'failed') return []
  const hasFailed = job.status === 'failed'
  // What was cut short by a failure elsewhere says nothing of how long it takes.
  const counted = hasFailed ? sections.filter(one => one.failed === true && one.kind !== 'runner') : sections
  const parents = new Map(sections.map(({ ordinal, parent }) => [ordinal, parent]))
  const sums = new Map<string, SectionTime>()
  for (const section of counted) {
    const name = section.name.slice(0, longestName)
    const known = sums.get(name)
    const tookMs = Math.max(0, Math.round(section.end - section.start)) + (known?.tookMs ?? 0)
    sums.set(name, { name, tookMs, failed: hasFailed, depth: known?.depth ?? depthOf(section, parents) })
  }
  return [...sums.values()].sort((a, b) => b.tookMs - a.tookMs).slice(0, mostOfRun)
}

/** Ordinals are given by start: that of what is around one is smaller. */
function depthOf({ ordinal, parent }: Section, parents: ReadonlyMap<number, number | undefined>): number {
  let depth = 0
  for (let inner = ordinal, around = parent; around !== undefined && around < inner; around = parents.get(inner)) {
    depth += 1
    inner = around
  }
  return depth
}
