// A job's log sections as nested rows of a waterfall. The functions in this file are pure.
import { z } from 'zod'
import { millis, ms, type Shaped } from '../layout/shape.ts'
import { counted, duration } from '../layout/format.ts'
import type { JobInside, Section } from '../../model/inside.ts'
import type { WaterfallRow } from '../waterfall/waterfall-row.ts'

export const sectionShape = z.object({
  ordinal: z.number(),
  parent: z.number().optional().describe('Ordinal of the enclosing section.'),
  name: z.string(),
  title: z.string().optional(),
  kind: z.enum(['runner', 'script', 'custom']),
  clock: z.enum(['line', 'marker']),
  start: millis,
  end: millis,
  clockShift: ms
    .optional()
    .describe(
      'How far the section’s times were shifted, in ms, so that they lie between the start and the end of the job.',
    ),
  failed: z.literal(true).optional().describe('The job failed in this section.'),
}) satisfies z.ZodType<Section>

export const jobSectionsShape = z.object({
  jobId: z.number(),
  start: millis,
  end: millis,
  sections: z.array(sectionShape),
  left: z.number().describe('At least this many more sections were left out.'),
})
export type JobSections = Shaped<typeof jobSectionsShape>

/**
 * Returns the sections of the job's last run only: a manual job that is played again keeps its ID, so one ID may have several runs. Returns undefined
 * if no sections were read.
 */
export function sectionsOf(insides: readonly JobInside[], jobId: number): JobSections | undefined {
  const last = insides.findLast(({ job, sections }) => job.id === jobId && sections !== undefined)
  if (last?.sections === undefined) return undefined
  const { job, sections } = last
  const highest = sections.reduce((most, { ordinal }) => Math.max(most, ordinal), 0)
  return { jobId, start: job.start, end: job.end, sections, left: Math.max(0, highest - sections.length) }
}

/** Returns the sections as rows of a waterfall. `depth` is the depth of the job's own row. */
export function sectionRows(
  { sections }: JobSections,
  { projectId, pipelineId, depth }: Pick<WaterfallRow, 'projectId' | 'pipelineId' | 'depth'>,
): WaterfallRow[] {
  const known = new Set(sections.map(({ ordinal }) => ordinal))
  // An enclosing section must come before the section it encloses. This check prevents cycles.
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

/** Returns a section's label: its name if the runner wrote the section, its title if a script did. */
export function labelOf({ kind, name, title }: Section): string {
  return kind === 'runner' ? name : (title ?? name)
}

/** Explains which sections were omitted and which times were adjusted. */
export function aboutSections({ sections, left }: JobSections): string[] {
  const shift = sections.reduce((most, { clockShift = 0 }) => Math.max(most, clockShift), 0)
  const isCoarse = sections.some(({ clock }) => clock === 'marker')
  return [
    left > 0
      ? `At least ${counted(left, 'more section is', 'more sections are')} left out: at most 200 sections are stored for a job, and at most 170 of these can come from its scripts.`
      : '',
    shift > 0
      ? `Times were shifted by up to ${duration(shift)} to fit the times of the job, because the runner’s clock differs from the platform’s.`
      : '',
    isCoarse ? 'Times are whole seconds: the runner does not write timestamps into its log.' : '',
  ].filter(Boolean)
}
