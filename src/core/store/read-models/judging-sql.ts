// The SQL that reads the data in which regressions are found.
import { branchClasses } from '../../../model/pipeline.ts'
import { day, trendJob, type TrendFigures } from '../ports/trends.ts'
import { judgedSectionsOn } from './section-figures-sql.ts'
import { json, number, record, text, word } from '../sql/columns.ts'
import { chunksOf } from '../../../model/run-chunks.ts'
import { loadRuns } from '../sql/run-reads.ts'
import { places } from '../sql/statements.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import { storedChunk } from '../sql/stored-json.ts'
import type { Reading } from '../sql/reading.ts'
import type { Chunk } from '../../../model/chunk.ts'
import type { Judging } from '../ports/judging.ts'

/** Ids of the jobs of these names. */
function jobsNamed(chunks: readonly Chunk[], names: ReadonlySet<string>): number[] {
  return chunks.flatMap(({ jobs }) =>
    jobs.flatMap(({ id, name }) => (name !== undefined && names.has(trendJob(name)) ? [id] : [])),
  )
}

/** How much is read before the event loop continues. */
const atOnce = { jobs: 20, runs: 20 }
/** The maximum of jobs of one project; beyond it the first by name are judged. */
const maxJobs = 1_000

const listed = record({
  instance: text('instance'),
  projectId: number('project_id'),
  project: text('project'),
  runs: number('runs'),
})
const row = record({
  job: text('job'),
  branch: word('branch', branchClasses),
  bucket: number('bucket'),
  runs: number('runs'),
  failed: number('failed'),
  durations: json<TrendFigures['durations']>('durations'),
})

export function judgingOn(reading: Reading): Judging {
  const { ask, byRow, damaged } = reading
  const sectionsIn = async (runs: readonly number[], jobs: readonly number[]): Promise<Chunk[]> => {
    if (jobs.length === 0) return []
    const rows = await byRow(
      `SELECT id, content FROM chunks WHERE run_id IN (${places(runs)}) AND inside IN (${places(jobs, runs.length)})
         AND content LIKE '%,"sections":[%' ORDER BY run_id, id`,
      [...runs, ...jobs],
    )
    return damaged.rows('chunks', rows, ({ content }) => storedChunk(content))
  }
  return {
    projects: async since => {
      const rows = await ask(
        `SELECT instance, project_id, max(project) AS project, sum(runs) AS runs FROM trends
         WHERE step = ?1 AND job = '' AND bucket >= ?2 AND project_id > 0 AND {visible} GROUP BY instance, project_id`,
        [day, since],
      )
      return rows.map(listed)
    },
    figures: async ({ instance, projectId }, step, since, active) => {
      const jobs = await ask(
        `SELECT DISTINCT job FROM trends
         WHERE step = ?1 AND bucket >= ?2 AND project_id = ?3 AND {visible} ORDER BY job LIMIT ${maxJobs}`,
        [day, active, projectId],
      )
      const names = jobs.map(text('job'))
      const found = []
      for (let first = 0; first < names.length; first += atOnce.jobs) {
        const some = names.slice(first, first + atOnce.jobs)
        const rows = await ask(
          `SELECT step, project_id, job, branch, bucket, runs, failed, durations FROM trends
           WHERE step = ?1 AND project_id = ?2 AND job IN (${places(some, 4)}) AND bucket >= ?3 AND instance = ?4 AND {visible}`,
          [step, projectId, since, instance, ...some],
        )
        found.push(damaged.rows('trends', rows, row))
        await breathe()
      }
      return found.flat()
    },
    sections: judgedSectionsOn(reading),
    newest: async function* ({ instance, project }, limit, sectionsOf = new Set()) {
      const runs = await ask(
        `SELECT run_id FROM listed_runs WHERE project = ?1 AND instance = ?2 AND finished_at IS NOT NULL AND {visible}
         ORDER BY created_at DESC, run_id DESC LIMIT ?3`,
        [project, instance, limit],
      )
      const ids = runs.map(number('run_id'))
      for (let first = 0; first < ids.length; first += atOnce.runs) {
        const some = ids.slice(first, first + atOnce.runs)
        const loaded = await loadRuns(byRow, damaged, some)
        const chunks = [...loaded.values()].flatMap(({ run }) => chunksOf(run))
        yield sectionsOf.size === 0 ? chunks : [...chunks, ...(await sectionsIn(some, jobsNamed(chunks, sectionsOf)))]
        await breathe()
      }
    },
  }
}
