// Reads the data in which regressions are searched for: the figures of one project, and its newest runs. Contains the SQL for this.
import { branchClasses, type BranchClass } from '../../model/pipeline.ts'
import { chunksOf } from '../../model/run-chunks.ts'
import { day } from './series.ts'
import { json, number, record, text, oneOf, type Row } from '../../core/store/sql/columns.ts'
import { loadRuns } from '../../core/store/sql/run-reads.ts'
import { placeholders } from '../../core/store/sql/statements.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import { storedChunk } from '../../core/store/sql/stored-json.ts'
import { countedName, type TrendFigures, type TrendStep } from '../trends/port.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'
import type { Reading } from '../../core/store/sql/reading.ts'

export interface JudgedProject {
  readonly instance: string
  readonly projectId: number
  /** The full path of the project. */
  readonly project: string
}

export interface JudgedRow extends Pick<TrendFigures, 'runs' | 'failed' | 'durations'> {
  /** The name of the job; empty for the project's pipelines. */
  readonly job: string
  /** The name of the section; empty for the job itself. */
  readonly section: string
  readonly branch: BranchClass
  readonly bucket: Millis
}

/** The maximum number of items that are read before the event loop yields to other tasks. */
const atOnce = { jobs: 20, jobsWithSections: 10, runs: 20 }
/** The maximum number of judged jobs per project. If there are more, the first ones by name are judged. */
const maxJobs = 1_000

export type Judging = ReturnType<typeof judgingOn>

export function judgingOn({ ask, byRow, damaged }: Reading) {
  const sectionsIn = async (runs: readonly number[], jobs: readonly number[]): Promise<Chunk[]> => {
    if (jobs.length === 0) return []
    const rows = await byRow(
      `SELECT id, content FROM chunks WHERE run_id IN (${placeholders(runs)}) AND inside IN (${placeholders(jobs, runs.length)})
         AND content LIKE '%,"sections":[%' ORDER BY run_id, id`,
      [...runs, ...jobs],
    )
    return damaged.rows('chunks', rows, ({ content }) => storedChunk(content))
  }
  async function* sectionFigures(
    { instance, projectId }: JudgedProject,
    since: Millis,
    active: Millis,
  ): AsyncGenerator<JudgedRow[]> {
    const jobs = await ask(
      `SELECT DISTINCT job FROM section_figures WHERE bucket >= ?1 AND project_id = ?2 AND {visible} ORDER BY job LIMIT ${maxJobs}`,
      [active, projectId],
    )
    for (const some of parted(jobs.map(jobOf), atOnce.jobsWithSections)) {
      const rows = await ask(
        `SELECT project_id, job, section, branch, bucket, runs, failed, durations FROM section_figures
         WHERE project_id = ?1 AND job IN (${placeholders(some, 3)}) AND bucket >= ?2 AND instance = ?3 AND {visible}`,
        [projectId, since, instance, ...some],
      )
      yield damaged.rows('section_figures', rows, sectionRow)
      await breathe()
    }
  }
  async function* newestChunks(
    { instance, project }: JudgedProject,
    limit: number,
    sectionsOf: ReadonlySet<string>,
  ): AsyncGenerator<Chunk[]> {
    const runs = await ask(
      `SELECT run_id FROM listed_runs WHERE project = ?1 AND instance = ?2 AND finished_at IS NOT NULL AND {visible}
       ORDER BY created_at DESC, run_id DESC LIMIT ?3`,
      [project, instance, limit],
    )
    for (const some of parted(runs.map(number('run_id')), atOnce.runs)) {
      const loaded = await loadRuns(byRow, damaged, some)
      const chunks = [...loaded.values()].flatMap(({ run }) => chunksOf(run))
      yield sectionsOf.size === 0 ? chunks : [...chunks, ...(await sectionsIn(some, jobsNamed(chunks, sectionsOf)))]
      await breathe()
    }
  }
  return {
    /** Returns the projects that have figures since `since`. `runs` is the number of their ended pipelines: if it has changed, there are new runs. */
    projects: async (since: Millis) => {
      // The runs of a project are read by its path. If it was renamed, the figures have several paths, and the latest one counts.
      const rows = await ask(
        `SELECT found.instance, found.project_id, coalesce(nullif(o.path, ''), found.project) AS project, found.runs FROM (
           SELECT instance, project_id, max(project) AS project, sum(runs) AS runs FROM trends
           WHERE step = ?1 AND job = '' AND bucket >= ?2 AND project_id > 0 AND {visible} GROUP BY instance, project_id) AS found
         LEFT JOIN owners o ON o.instance = found.instance AND o.project_id = found.project_id AND o.group_path = ''`,
        [day, since],
      )
      return rows.map(listed)
    },
    /** Returns the figures since `since` for the project's pipelines and for each job that also ran since `active`, in any order. */
    figures: async ({ instance, projectId }: JudgedProject, step: TrendStep, since: Millis, active: Millis) => {
      const jobs = await ask(
        `SELECT DISTINCT job FROM trends
         WHERE step = ?1 AND bucket >= ?2 AND project_id = ?3 AND {visible} ORDER BY job LIMIT ${maxJobs}`,
        [day, active, projectId],
      )
      const found: JudgedRow[] = []
      for (const some of parted(jobs.map(jobOf), atOnce.jobs)) {
        const rows = await ask(
          `SELECT step, project_id, job, branch, bucket, runs, failed, durations FROM trends
           WHERE step = ?1 AND project_id = ?2 AND job IN (${placeholders(some, 4)}) AND bucket >= ?3 AND instance = ?4 AND {visible}`,
          [step, projectId, since, instance, ...some],
        )
        found.push(...damaged.rows('trends', rows, figureRow))
        await breathe()
      }
      return found
    },
    /** Yields the daily section figures of jobs that also ran since `active`, a few jobs at a time. */
    sections: async (of: JudgedProject, since: Millis, active: Millis) => sectionFigures(of, since, active),
    /**
     * Yields the chunks of the newest `limit` finished runs, a few runs at a time, newest first. `sectionsOf` contains the names of jobs whose
     * section chunks are included, after the other chunks of the same runs.
     */
    newest: async (of: JudgedProject, limit: number, sectionsOf: ReadonlySet<string> = new Set()) =>
      newestChunks(of, limit, sectionsOf),
  }
}

function* parted<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let first = 0; first < all.length; first += size) yield all.slice(first, first + size)
}

/** Returns the ids of the jobs with these names. */
function jobsNamed(chunks: readonly Chunk[], names: ReadonlySet<string>): number[] {
  return chunks.flatMap(({ jobs }) =>
    jobs.flatMap(({ id, name }) => (name !== undefined && names.has(countedName(name)) ? [id] : [])),
  )
}

const jobOf = text('job')
const listed = record({
  instance: text('instance'),
  projectId: number('project_id'),
  project: text('project'),
  runs: number('runs'),
})
const figures = {
  job: jobOf,
  branch: oneOf('branch', branchClasses),
  bucket: number('bucket'),
  runs: number('runs'),
  failed: number('failed'),
  durations: json<TrendFigures['durations']>('durations'),
}
const figureRow: (row: Row) => JudgedRow = record({ ...figures, section: () => '' })
const sectionRow: (row: Row) => JudgedRow = record({ ...figures, section: text('section') })
