// The columns by which run lists are filtered and ordered. Each run has a narrow row with these columns, so that a list never reads the runs that it
// skips.
import { earliest } from '../../../model/instant.ts'
import { isTerminal } from '../../../model/status.ts'
import { eachRunColumn, indexedFilters, runColumns } from '../ports/run-columns.ts'
import { parentOf } from '../../../model/family.ts'
import { forRows, type StepValue } from '../sql/steps.ts'
import { plainText } from '../sql/columns.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Run } from '../../../model/run.ts'

const searched = eachRunColumn.flatMap(([, column]) => column.searched ?? [])

/** The columns of a listing that may change. */
const changing = ['project', ...indexedFilters, 'created_at', 'finished_at', 'parent_id', 'text']

const values = (table: string): string => changing.map(name => `${table}.${name}`).join(', ')
/** Inserts listings. Each input row is a run's id followed by the values of `listingOf`. An unchanged row is not written. */
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

/** The maximum searchable length of a commit title or name, in UTF-16 code units. */
const maxLength = 300

/** Returns false if the observation leaves the run's listing unchanged. That is the usual case, because most observations are about jobs. */
export function changesListing(known: Run | undefined, run: Run): boolean {
  const isSame = known?.pipeline === run.pipeline && known?.project === run.project
  return !isSame || run.pipeline?.times.createdAt === undefined
}

/** Returns the values of a run's listing without the id, in the order of `insertListings`. Undefined as long as only jobs of the run are known. */
export function listingOf(run: Run, now: Millis): StepValue[] | undefined {
  if (run.pipeline === undefined) return undefined
  const { record, times } = run.pipeline
  const { facts } = record
  const { id, path, name } = run.project.facts
  const started = [...run.jobs.values()].flatMap(job => [job.times.createdAt, job.times.startedAt])
  const words = [path ?? name, ...searched.map(of => of(facts))]
  // The trace id is included because it cannot be derived from the run.
  if (facts.traceparent !== undefined) words.push(facts.traceparent.split('-')[1])
  return [
    ...[run.key.instance, run.key.pipelineId, id, plainText(path ?? name ?? '')],
    ...indexedFilters.map(name => plainText(runColumns[name].of(facts) ?? '')),
    // If the creation time is unknown, use the earliest known time of the run.
    times.createdAt ?? earliest(started) ?? times.finishedAt ?? now,
    // A finished pipeline that is retried keeps its finish time while it runs again. So the finish time is listed only if the status is terminal.
    (isTerminal(facts.status) ? times.finishedAt : undefined) ?? null,
    // The id of the pipeline that triggered this run.
    parentOf(run)?.pipelineId ?? null,
    // The searchable text of the run, in lower case.
    plainText([run.key.pipelineId, ...words.map(word => word?.slice(0, maxLength) ?? '')].join(' ').toLowerCase()),
  ]
}
