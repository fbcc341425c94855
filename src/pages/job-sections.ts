// The sections of a job as rows of a waterfall, each within the one around it. Pure.
import { duration, number } from './format.ts'
import type { JobInside, Section } from '../model/inside.ts'
import type { WaterfallRow } from './waterfall-row.ts'

export interface JobSections {
  readonly jobId: number
  readonly start: number
  readonly end: number
  readonly sections: readonly Section[]
  /** At least so many more there were: a job keeps two hundred. */
  readonly left: number
}

/** Of what was read of a job the last: a job that was played again has the same id. Undefined: nothing was read. */
export function sectionsOf(insides: readonly JobInside[], jobId: number): JobSections | undefined {
  const last = insides.findLast(({ job, sections }) => job.id === jobId && sections !== undefined)
  if (last?.sections === undefined) return undefined
  const { job, sections } = last
  const highest = sections.reduce((most, { ordinal }) => Math.max(most, ordinal), 0)
  return { jobId, start: job.start, end: job.end, sections, left: Math.max(0, highest - sections.length) }
}

/** `depth`: of the job's own row. */
export function sectionRows(
  { sections }: JobSections,
  { projectId, pipelineId, depth }: Pick<WaterfallRow, 'projectId' | 'pipelineId' | 'depth'>,
): WaterfallRow[] {
  const known = new Set(sections.map(({ ordinal }) => ordinal))
  // What is not before it cannot be around it, so there are no circles.
  const isAround = (parent: number | undefined, { ordinal }: Section): parent is number =>
    parent !== undefined && parent < ordinal && known.has(parent)
  const inner = Map.groupBy(sections, one => (isAround(one.parent, one) ? one.parent : undefined))
  const rows: WaterfallRow[] = []
  const add = (section: Section, at: number): void => {
    rows.push({
      kind: 'section',
      id: section.ordinal,
      label: labelOf(section),
      note: section.failed === true ? 'failed here' : undefined,
      status: section.failed === true ? 'failed' : '',
      depth: at,
      start: section.start,
      end: Math.max(section.start, section.end),
      ...{ critical: false, retried: false, projectId, pipelineId },
    })
    for (const one of inner.get(section.ordinal) ?? []) add(one, at + 1)
  }
  for (const section of inner.get(undefined) ?? []) add(section, depth + 1)
  return rows
}

/** The runner's own by their names, those of scripts by their titles. */
function labelOf({ kind, name, title }: Section): string {
  return kind === 'runner' ? name : (title ?? name)
}

/** What was left out of them, or moved, in sentences. */
export function aboutSections({ sections, left }: JobSections): string[] {
  const shift = sections.reduce((most, { clockShift = 0 }) => Math.max(most, clockShift), 0)
  const isCoarse = sections.some(({ clock }) => clock === 'marker')
  return [
    left > 0 ? `At least ${number(left)} more sections are left out: at most 200 are kept for a job.` : '',
    shift > 0 ? `Times were moved by up to ${duration(shift)} to fit the job’s: the runner’s clock differs.` : '',
    isCoarse ? 'Times are whole seconds: the runner does not write timestamps into its log.' : '',
  ].filter(Boolean)
}
