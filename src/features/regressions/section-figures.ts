// Daily figures of sections, for jobs whose logs are read: durations and failures, by class of branch. For each job, only the sections that take most
// of its time are stored. The figures are updated in the transaction that stores the result of a job read; `judging.ts` reads them.
import { binOf } from '../../lib/log-bins.ts'
import { branchClassOf } from '../../model/pipeline.ts'
import { countedName, day, type TrendFigures } from '../trends/port.ts'
import { each, forRows, type Steps, type Within } from '../../core/store/sql/steps.ts'
import { json, number, record, text, type Row } from '../../core/store/sql/columns.ts'
import { reportsBy, type LineStep } from '../../core/store/ports/reporter.ts'
import { sectionTimes } from '../../model/section-times.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Dialect, StorePart } from '../../core/store/ports/store-part.ts'
import type { Reporter } from '../../core/store/ports/runs.ts'

/** The maximum number of section names per job and day, because a script may use different names in each run. Further names are dropped. */
const maxNames = 20
/** The retention of section figures, ms. No comparison goes further back. */
const storedFor = 100 * day

export const sectionTables: StorePart = {
  name: 'regressions',
  schema: [schema],
  kept: (on, { keepFigures }, steps) => [
    {
      ...{ kind: 'section_figures', keep: Math.min(storedFor, keepFigures) },
      sweep: () => async (before, isEnough) =>
        steps.repeat(async limit => on(async sql => sql.change(deleteOld, [before, limit])), isEnough),
    },
  ],
}

function schema({ byKey }: Dialect): string {
  return `
  CREATE TABLE section_figures (
    project_id bigint NOT NULL,
    job        text   NOT NULL,
    bucket     bigint NOT NULL,
    instance   text   NOT NULL,
    branch     text   NOT NULL,
    section    text   NOT NULL,
    runs       bigint NOT NULL,
    failed     bigint NOT NULL,
    durations  text   NOT NULL,
    PRIMARY KEY (project_id, job, bucket, instance, branch, section)
  ) ${byKey};
  CREATE INDEX section_figures_by_day ON section_figures (bucket, project_id, job);
  `
}

const key = 'project_id, job, bucket, instance, branch'
const ofDay = 'project_id = ?1 AND job = ?2 AND bucket = ?3 AND instance = ?4 AND branch = ?5'
const known = `SELECT section, runs, failed, durations FROM section_figures WHERE ${ofDay}`
const write = forRows(
  ['bigint', 'text', 'bigint', 'text', 'text', 'text', 'bigint', 'bigint', 'json'],
  ({ rows }) => `
  INSERT INTO section_figures (${key}, section, runs, failed, durations) ${rows}
  ON CONFLICT (${key}, section) DO UPDATE SET
    runs = excluded.runs, failed = excluded.failed, durations = excluded.durations`,
)
const deleteOld = `DELETE FROM section_figures WHERE (${key}, section) IN
  (SELECT ${key}, section FROM section_figures WHERE bucket < ?1 ORDER BY bucket LIMIT ?2)`

type Figures = Pick<TrendFigures, 'runs' | 'failed' | 'durations'>
const sectionOf = text('section')
const figuresOf: (row: Row) => Figures = record({
  runs: number('runs'),
  failed: number('failed'),
  durations: json<Figures['durations']>('durations'),
})

/** Sections that are not exported are not counted either. */
export const sectionStep: LineStep = {
  onInside: (chunk, { isSent }) => reportsBy(sectionReporter, isSent && chunk.inside?.sections ? [chunk] : []),
}

const sectionReporter: Reporter<Chunk> = {
  order: 90,
  locks: ({ key, project, inside }) => [`sections ${inside?.job.name ?? ''} of ${project.id} ${key.instance}`],
  *write(chunks, within) {
    for (const chunk of chunks) yield* addSections(chunk, within)
  },
}

function* addSections({ key: { instance }, project, pipeline, inside }: Chunk, { damaged }: Within): Steps<void> {
  const job = countedName(inside?.job.name ?? '')
  const sections = inside === undefined ? [] : sectionTimes(inside)
  if (inside === undefined || job === '' || sections.length === 0) return
  const bucket = inside.job.end - (inside.job.end % day)
  const own = [project.id, job, bucket, instance, branchClassOf(pipeline.facts, project)]
  const stored = new Map((yield [known, own]).map(row => [sectionOf(row), row]))
  const sums = new Map<string, Figures>()
  for (const { name, tookMs, failed } of sections) {
    const section = countedName(name)
    const row = stored.get(section)
    if (row === undefined && !sums.has(section) && stored.size + sums.size >= maxNames) continue
    // Damaged section figures are replaced with new ones.
    const place = { section, project_id: project.id, job, bucket }
    const sum = sums.get(section) ?? damaged.row('section_figures', row, figuresOf, place)
    const { runs, failed: before, durations } = sum ?? { runs: 0, failed: 0, durations: {} }
    const bin = binOf(tookMs)
    const added = { ...durations, [bin]: (durations[bin] ?? 0) + 1 }
    sums.set(section, { runs: runs + 1, failed: before + Number(failed), durations: added })
  }
  yield each(
    write,
    [...sums].map(([section, { runs, failed, durations }]) => [
      ...own,
      section,
      runs,
      failed,
      JSON.stringify(durations),
    ]),
  )
}
