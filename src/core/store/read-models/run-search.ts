// The SQL that finds runs by list filters, search words and job names.
//
// If a filter is not a column of the list, the runs themselves are read in batches, newest first. Job names are not columns, because a run has dozens
// of jobs. A feature may know which projects have a job of that name, and since when.
import { setImmediate as breathe } from 'node:timers/promises'
import { inScope, isGroup } from '../ports/project-scope.ts'
import { number, type Row } from '../sql/columns.ts'
import { indexedFilters, runColumns } from '../ports/run-columns.ts'
import { unindexed, type RunCursor, type RunPage, type RunQuery } from '../ports/views.ts'
import type { KnownJob, StorePart } from '../ports/store-part.ts'
import type { Reading } from '../sql/reading.ts'
import type { Value } from '../sql/statements.ts'
import type { Run } from '../../../model/run.ts'
import type { StoredRun } from '../ports/runs.ts'

/** The maximum number of list rows that are searched for one page, which takes some milliseconds. */
const maxRows = 5_000
/** How many runs one search reads at a time, and for how many ms it may go on reading. The time is limited because some runs are large. */
const runsLookedAt = { atOnce: 100, maxMs: 100 }
/** Loads runs with their jobs, by the ids of their rows. */
type Load = (ids: readonly number[]) => Promise<ReadonlyMap<number, StoredRun>>

/** A run with its position in the list. */
interface Found {
  readonly stored: StoredRun
  readonly at: RunCursor
}

export async function searchRuns(
  reading: Reading,
  load: Load,
  query: RunQuery,
  parts: readonly StorePart[],
): Promise<RunPage> {
  const { ask } = reading
  const { job, limit } = query
  const others = unindexed(query)
  if (job === undefined && others.length === 0) {
    const { found, ...page } = await onePage(ask, load, query, { max: maxRows })
    return { runs: found.map(({ stored }) => stored), ...page }
  }
  const known = job === undefined ? undefined : await knownOf(reading, job, query, parts)
  const matches = ({ run }: StoredRun): boolean =>
    (job === undefined || hasJob(run, job)) &&
    others.every(name => run.pipeline !== undefined && runColumns[name].of(run.pipeline.record.facts) === query[name])
  const found: Found[] = []
  const began = performance.now()
  const { atOnce, maxMs } = runsLookedAt
  let rest: Omit<Page, 'found'> = {}
  for (let looked = 0; looked < maxRows; looked += atOnce) {
    const part = { ...query, after: rest.next ?? query.after, limit: atOnce }
    const { found: some, ...end } = await onePage(ask, load, part, { max: atOnce, known })
    found.push(...some.filter(({ stored }) => matches(stored)))
    rest = end
    if (rest.next === undefined || found.length > limit) break
    if (performance.now() - began > maxMs) break
    await breathe()
  }
  const runs = found.slice(0, limit).map(({ stored }) => stored)
  return found.length > limit ? { runs, next: found[limit - 1]?.at } : { runs, ...rest }
}

function hasJob(run: Run, name: string): boolean {
  for (const job of run.jobs.values()) if (job.record.facts.name === name) return true
  return false
}

/** A page of search results. `next` and `searchedBackTo` have the same meaning as in `RunPage`. */
interface Page extends Omit<RunPage, 'runs'> {
  readonly found: readonly Found[]
}

interface Look {
  /** The maximum number of rows to search. */
  readonly max: number
  readonly known?: KnownJob | undefined
}

async function onePage(ask: Reading['ask'], load: Load, query: RunQuery, { max, known }: Look): Promise<Page> {
  const { after, until } = query
  const values: Value[] = []
  const place = (value: Value): string => `?${values.push(value)}`
  const { driver, others, columns } = conditions({ ...query, project: query.project ?? known?.only }, place)
  const since = Math.max(query.since ?? -Infinity, known?.since ?? -Infinity)
  if (since !== -Infinity) driver.push(`created_at >= ${place(since)}`)
  if (until !== undefined) driver.push(`created_at < ${place(until)}`)
  if (after !== undefined) driver.push(`(created_at, run_id) < (${place(after.createdAt)}, ${rowAt(after, place)})`)
  const walk =
    `FROM listed_runs WHERE {visible} ${and(driver)} ORDER BY created_at DESC, run_id DESC LIMIT ${max}` as const
  const walked = values.length
  const projects = known?.projects
  const also = [
    ...others(place),
    ...(projects === undefined ? [] : [`project_id IN (${projects.map(place).join(', ')})`]),
  ]
  const rows = await ask(
    `SELECT run_id, created_at, pipeline_id FROM (SELECT ${[...new Set(['run_id', 'created_at', 'pipeline_id', ...columns, ...(projects === undefined ? [] : ['project_id'])])].join(', ')} ${walk}) AS walked
     ${whereOf(also)} ORDER BY created_at DESC, run_id DESC LIMIT ${place(query.limit + 1)}`,
    values,
  )
  const shown = rows.slice(0, query.limit)
  const runs = await load(shown.map(runId))
  const found = shown.flatMap(row => {
    const stored = runs.get(runId(row))
    return stored === undefined ? [] : [{ stored, at: cursorOf(row) }]
  })
  const last = shown.at(-1)
  if (rows.length > query.limit && last !== undefined) return { found, next: cursorOf(last) }
  // Fewer runs than requested were found. Check whether the list ends here, or whether the search has only reached the maximum number of rows for one
  // page.
  const [end] = await ask(`SELECT created_at, pipeline_id ${walk} OFFSET ${max - 1}`, values.slice(0, walked))
  if (end === undefined) return { found }
  const next = cursorOf(end)
  return { found, next, searchedBackTo: next.createdAt }
}

async function knownOf(
  reading: Reading,
  job: string,
  query: RunQuery,
  parts: readonly StorePart[],
): Promise<KnownJob | undefined> {
  const known = await Promise.all(parts.map(async part => part.findJob?.(reading, job, query)))
  return known.find(one => one !== undefined)
}

type Place = (value: Value) => string

/** Builds the conditions of a search. One filter uses its index, in chronological order; the other filters are checked on each row that it finds. */
export function conditions(
  query: Omit<RunQuery, 'limit'>,
  place: Place,
): { driver: string[]; others: (place: Place) => string[]; columns: readonly string[] } {
  const isOne = typeof query.project === 'string' && !isGroup(query.project)
  const several = isOne ? undefined : query.project
  const equal = {
    project: isOne ? query.project : undefined,
    ...Object.fromEntries(indexedFilters.map(name => [name, query[name]])),
  }
  const given = Object.entries(equal).flatMap(([column, value]) =>
    typeof value === 'string' ? [{ column, value }] : [],
  )
  const [leading, ...rest] = given
  const driver = leading === undefined ? [] : [`${leading.column} = ${place(leading.value)}`]
  const words = wordsOf(query.text ?? '')
  return {
    driver,
    columns: [
      ...rest.map(({ column }) => column),
      ...(words.length === 0 ? [] : ['text']),
      ...(several === undefined ? [] : ['project']),
    ],
    others: next => [
      ...rest.map(({ column, value }) => `${column} = ${next(value)}`),
      ...(several === undefined ? [] : [inScope('project', several, next)]),
      ...words.map(word => `text LIKE ${next(`%${escaped(word)}%`)} ESCAPE '\\'`),
    ],
  }
}

/** Splits a search string into words. `#123` searches for 123. A full revision is cut to twelve characters, because listings contain only those. */
function wordsOf(text: string): string[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8)
  return words.map(word => (/^[0-9a-f]{40}$/.test(word) ? word.slice(0, 12) : word.replace(/^#(?=\d+$)/, '')))
}

/** Joins further conditions with AND, to append them to a WHERE clause. */
export function and(conditions: readonly string[]): string {
  return conditions.map(one => `AND ${one}`).join(' ')
}

function whereOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
}

function cursorOf(row: Row): RunCursor {
  return { createdAt: createdAt(row), pipelineId: pipelineIdOf(row) }
}

/** Returns the SQL that finds the row of a cursor's run. It yields 0 if that run has been pruned. */
export function rowAt({ createdAt: at, pipelineId }: RunCursor, place: (value: Value) => string): string {
  return `coalesce((SELECT min(run_id) FROM listed_runs WHERE created_at = ${place(at)} AND pipeline_id = ${place(pipelineId)}), 0)`
}

/** Escapes a string for a LIKE pattern. */
function escaped(text: string): string {
  return text.replace(/[%_\\]/g, '\\$&')
}

const runId = number('run_id')
const createdAt = number('created_at')
const pipelineIdOf = number('pipeline_id')
