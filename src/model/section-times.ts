// Selects the sections of one job run whose times are recorded: the longest sections of a successful job, or the sections in which a job failed.
// Pure.
import { hasFailed, hasSucceeded } from './status.ts'
import type { JobInside, Section } from './inside.ts'

export interface SectionTime {
  readonly name: string
  /** Total duration of all sections with this name, ms. */
  readonly tookMs: number
  /** True if the job failed in this section. The runner's own sections never count as failed. */
  readonly failed: boolean
  /** Number of sections that enclose this one. */
  readonly depth: number
}

/** Maximum number of sections that are recorded for one run of a job. The longest sections are chosen. */
const maxOfRun = 8
/** Maximum length of a section's name, UTF-16 units. The limit is needed because scripts choose the names. */
const maxNameLength = 128

export function sectionTimes({ job, sections = [] }: Pick<JobInside, 'job' | 'sections'>): SectionTime[] {
  if (!hasSucceeded(job.status) && !hasFailed(job.status)) return []
  const isFailed = hasFailed(job.status)
  // If the job failed, only the sections in which it failed count, because the failure may have cut the other sections short.
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

/** Number of sections that enclose a section. An enclosing section always has a smaller ordinal, because ordinals are assigned in order of start. */
function depthOf({ ordinal, parent }: Section, parents: ReadonlyMap<number, number | undefined>): number {
  let depth = 0
  for (let inner = ordinal, around = parent; around !== undefined && around < inner; around = parents.get(inner)) {
    depth += 1
    inner = around
  }
  return depth
}
