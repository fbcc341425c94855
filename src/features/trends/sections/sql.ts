// The SQL of the figures of sections: adds those of new chunks to the stored ones.
import { day } from '../counting/figures.ts'
import { json, number, record, text, type Row } from '../../../core/store/sql/columns.ts'
import { maxNames, type SectionFigures, type SectionsOfDay } from './sums.ts'
import { forRows, type StepValue } from '../../../core/store/sql/steps.ts'
import { plusBins } from '../../../lib/log-bins.ts'
import type { DamagedRows } from '../../../core/store/sql/damaged-rows.ts'

const dayKey = 'project_id, job, bucket, instance, branch'
const dayTypes = ['bigint', 'text', 'bigint', 'text', 'text'] as const

/** Its rows are a number, and a day (`sectionDayKey`). */
export const knownSections = forRows(
  ['bigint', ...dayTypes],
  ({ rows }) => `
  WITH k (nth, ${dayKey}) AS (${rows})
  SELECT k.nth, f.section, f.runs, f.failed, f.durations FROM k JOIN section_figures f USING (${dayKey})`,
)
/** Its rows are `sectionValues`; they replace those with the same key. */
export const writeSections = forRows(
  [...dayTypes, 'text', 'bigint', 'bigint', 'json'],
  ({ rows }) => `
  INSERT INTO section_figures (${dayKey}, section, runs, failed, durations) ${rows}
  ON CONFLICT (${dayKey}, section) DO UPDATE SET
    runs = excluded.runs, failed = excluded.failed, durations = excluded.durations`,
)

/** How far back somebody compares them, ms. */
export const sectionsStoredFor = 100 * day

export function sectionDayKey({
  projectId,
  job,
  bucket,
  instance,
  branch,
}: Omit<SectionsOfDay, 'sections'>): StepValue[] {
  return [projectId, job, bucket, instance, branch]
}

/** The values of `writeSections`. `known`: rows of `knownSections`. New names beyond `maxNames` are dropped. */
export function sectionValues(of: SectionsOfDay, known: readonly Row[], damaged: DamagedRows): StepValue[][] {
  const stored = new Map(known.map(row => [nameOf(row), row]))
  let room = maxNames - stored.size
  return [...of.sections].flatMap(([section, more]) => {
    const row = stored.get(section)
    if (row === undefined && (room -= 1) < 0) return []
    // Damaged figures begin anew.
    const key = { section, project_id: of.projectId, job: of.job, bucket: of.bucket }
    const before = damaged.row('section_figures', row, figuresOf, key)
    const sum = before === undefined ? more : plus(before, more)
    return [[...sectionDayKey(of), section, sum.runs, sum.failed, JSON.stringify(sum.durations)]]
  })
}

function plus(a: SectionFigures, b: SectionFigures): SectionFigures {
  return { runs: a.runs + b.runs, failed: a.failed + b.failed, durations: plusBins(a.durations, b.durations) }
}

const nameOf = text('section')
const figuresOf: (row: Row) => SectionFigures = record({
  runs: number('runs'),
  failed: number('failed'),
  durations: json<SectionFigures['durations']>('durations'),
})
