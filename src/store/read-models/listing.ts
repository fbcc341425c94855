// The columns by which lists of runs are filtered and ordered: a narrow row for each run, so that a list never reads runs that it skips.
import { earliest } from '../../model/instant.ts'
import { isTerminal } from '../../model/status.ts'
import { parentOf } from '../../model/family.ts'
import { forRows } from '../sql/steps.ts'
import { plainText } from '../sql/plain-text.ts'
import type { Millis } from '../../model/instant.ts'
import type { Run } from '../../model/run.ts'

export interface Listing {
  readonly instance: string
  readonly pipelineId: number
  readonly projectId: number
  /** Full path; empty if it is unknown. */
  readonly project: string
  readonly status: string
  readonly ref: string
  readonly source: string
  /** If it is unknown, the earliest time known of the run. */
  readonly createdAt: Millis
  readonly finishedAt?: Millis | undefined
  /** The pipeline that triggered it. */
  readonly parentId?: number | undefined
  /** The searchable text, in lower case. */
  readonly text: string
}

/** The columns that may change. */
const changing = ['project', 'status', 'ref', 'source', 'created_at', 'finished_at', 'parent_id', 'text']

const values = (table: string): string => changing.map(name => `${table}.${name}`).join(', ')
/** Its rows are a run's id and its `listingValues`. An unchanged row is not written. */
export const insertListings = forRows(
  [
    ...(['bigint', 'text', 'bigint', 'bigint', 'text', 'text', 'text', 'text'] as const),
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

/** Undefined while only jobs of the run are known. */
export function listingOf(run: Run, now: Millis): Listing | undefined {
  if (run.pipeline === undefined) return undefined
  const { record, times } = run.pipeline
  const { facts } = record
  const { id, path, name } = run.project.facts
  const started = [...run.jobs.values()].flatMap(job => [job.times.createdAt, job.times.startedAt])
  const title = facts.commit?.message?.split('\n', 1)[0]
  const words = [path ?? name, facts.ref, facts.name, title, facts.sha?.slice(0, 12), facts.user?.username]
  // The trace id, as it cannot be computed from the run.
  if (facts.traceparent !== undefined) words.push(facts.traceparent.split('-')[1])
  return {
    instance: run.key.instance,
    pipelineId: run.key.pipelineId,
    projectId: id,
    project: plainText(path ?? name ?? ''),
    status: plainText(facts.status),
    ref: plainText(facts.ref ?? ''),
    source: plainText(facts.source ?? ''),
    createdAt: times.createdAt ?? earliest(started) ?? times.finishedAt ?? now,
    // A pipeline that is retried keeps its finish while it runs again.
    finishedAt: isTerminal(facts.status) ? times.finishedAt : undefined,
    parentId: parentOf(run)?.pipelineId,
    text: plainText([run.key.pipelineId, ...words.map(word => word?.slice(0, longest) ?? '')].join(' ').toLowerCase()),
  }
}

type ListingValues = readonly (string | number | null)[]

export function listingValues(listing: Listing): ListingValues {
  const { instance, pipelineId, projectId, project, status, ref, source, createdAt, finishedAt, parentId, text } =
    listing
  return [
    instance,
    pipelineId,
    projectId,
    project,
    status,
    ref,
    source,
    createdAt,
    finishedAt ?? null,
    parentId ?? null,
    text,
  ]
}
