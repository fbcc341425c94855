// The columns by which lists of runs are filtered and ordered: a narrow row for each run, so that a list never reads runs that it skips.
import { earliest } from '../../../model/instant.ts'
import { isTerminal } from '../../../model/status.ts'
import { eachRunColumn, indexedFilters, runColumns } from '../ports/run-columns.ts'
import { parentOf } from '../../../model/family.ts'
import { forRows, type StepValue } from '../sql/steps.ts'
import { plainText } from '../sql/columns.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Run } from '../../../model/run.ts'

const searched = eachRunColumn.flatMap(([, column]) => column.searched ?? [])

/** The columns that may change. */
const changing = ['project', ...indexedFilters, 'created_at', 'finished_at', 'parent_id', 'text']

const values = (table: string): string => changing.map(name => `${table}.${name}`).join(', ')
/** Its rows are a run's id and its `listingOf`. An unchanged row is not written. */
export const insertListings = forRows(
  [
    ...(['bigint', 'text', 'bigint', 'bigint', 'text'] as const),
    ...indexedFilters.map(() => 'text' as const),
    ...(['bigint', 'bigint', 'bigint', 'text'] as const),
  ],
  ({ rows }) => `
  INSERT INTO listed_runs AS l (run_id, instance, pipeline_id, project_id, ${changing.join(', ')}) ${rows}
  ON CONFLICT (run_id) DO UPDATE SET ${changing.map(name => `${name} = excluded.${name}`).join(', ')}
  WHERE (${values('l')}) IS DISTINCT FROM (${values('excluded')})`,
)

/** The searchable part of a commit title or name, UTF-16 units. */
const longest = 300

/** False if the listing stays the same: most observations are about jobs. */
export function changesListing(known: Run | undefined, run: Run): boolean {
  const isSame = known?.pipeline === run.pipeline && known?.project === run.project
  return !isSame || run.pipeline?.times.createdAt === undefined
}

/** The values of its row without the id, in the order of `insertListings`. Undefined while only jobs of the run are known. */
export function listingOf(run: Run, now: Millis): StepValue[] | undefined {
  if (run.pipeline === undefined) return undefined
  const { record, times } = run.pipeline
  const { facts } = record
  const { id, path, name } = run.project.facts
  const started = [...run.jobs.values()].flatMap(job => [job.times.createdAt, job.times.startedAt])
  const words = [path ?? name, ...searched.map(of => of(facts))]
  // The trace id, as it cannot be computed from the run.
  if (facts.traceparent !== undefined) words.push(facts.traceparent.split('-')[1])
  return [
    ...[run.key.instance, run.key.pipelineId, id, plainText(path ?? name ?? '')],
    ...indexedFilters.map(name => plainText(runColumns[name].of(facts) ?? '')),
    // If the creation is unknown, the earliest time known of the run.
    times.createdAt ?? earliest(started) ?? times.finishedAt ?? now,
    // A pipeline that is retried keeps its finish while it runs again.
    (isTerminal(facts.status) ? times.finishedAt : undefined) ?? null,
    // The pipeline that triggered it.
    parentOf(run)?.pipelineId ?? null,
    // The searchable text, in lower case.
    plainText([run.key.pipelineId, ...words.map(word => word?.slice(0, longest) ?? '')].join(' ').toLowerCase()),
  ]
}
