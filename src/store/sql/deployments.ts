// Writes deployments, as steps of a transaction: reports are merged into what is known. Events that wait for the span of a job get it here.
import { number, optional, record, type Row } from './columns.ts'
import { joinWaiting, type WrittenEvent } from './waiting-events.ts'
import { mergeDeployment, viewDeployment, type Deployment, type JobSpan } from '../../model/deployment.ts'
import { plainText } from './plain-text.ts'
import { storedDeployment, type DamagedRows } from './stored-json.ts'
import type { Millis } from '../../model/instant.ts'
import type { RunChange } from '../ports/runs.ts'
import type { ReportedDeployment } from '../ports/deployments.ts'
import type { StepOf, Steps, StepValue } from './steps.ts'

/** The platform's limit for the name of an environment. */
const longestName = 255

/** How a database writes deployments. */
export interface Writing {
  /** So that none is counted between its reading and its writing, which would make it due again. */
  readonly lock: '' | 'FOR UPDATE'
  readonly listing: Listing
}

/** Whether the large indexes get a deployment when it is written, or later, with many others (`deployment-schema.ts`). */
export type Listing = 'at once' | 'later'

/** Returns the events that got their span. */
export function* writeDeployments(
  reported: readonly ReportedDeployment[],
  now: Millis,
  damaged: DamagedRows,
  { lock, listing }: Writing,
): Steps<WrittenEvent[]> {
  const joined: WrittenEvent[] = []
  for (const { deployment, countIn } of reported) {
    const known = yield selectOwn(deployment, lock)
    yield* writeDeployment(deployment, known, { dueAt: now + countIn, now, damaged, listing })
    const { job, instance } = deployment
    if (job !== undefined) joined.push(...(yield* joinWaiting(instance, job.span, now, damaged)))
  }
  return joined
}

interface Circumstances extends Pick<Writing, 'listing'> {
  readonly dueAt: Millis
  readonly now: Millis
  readonly damaged: DamagedRows
}

function* writeDeployment(
  reported: Deployment,
  [row, twin]: readonly Row[],
  { dueAt, now, damaged, listing }: Circumstances,
): Steps<void> {
  if (row === undefined) {
    const values = valuesOf(reported, now)
    const isKnown = values[mayCount] !== null
    yield [inserting[listing], [...values, isKnown ? dueAt : null, isKnown ? now : null]]
    return
  }
  const known = contentOf(row, damaged)
  // An event without a job and the job make two rows, until an event names both.
  const other = twin && contentOf(twin, damaged)
  if (twin !== undefined) yield ['DELETE FROM deployments WHERE id = ?1', [idOf(twin)]]
  const before = known === undefined || other === undefined ? (known ?? other) : mergeDeployment(known, other)
  const merged = before === undefined ? reported : mergeDeployment(before, reported)
  if (known !== undefined && twin === undefined && JSON.stringify(merged) === JSON.stringify(known)) return
  const values = valuesOf(merged, now)
  const due = dueOf(row) ?? (twin && dueOf(twin)) ?? dueAt
  const isCounted = [row, twin].some(one => one !== undefined && countedOf(one) !== undefined)
  const next = isCounted || values[mayCount] === null ? null : due
  const countedAt = countedOf(row) ?? (twin && countedOf(twin)) ?? null
  const knownAt = knownOf(row) ?? (twin && knownOf(twin)) ?? (next === null ? null : now)
  yield [update, [...values, next, knownAt, countedAt, idOf(row)]]
}

/** The job's span, if a snapshot has it. */
export function* jobSpanOf(instance: string, jobId: number, damaged: DamagedRows): Steps<JobSpan | undefined> {
  const [row] = yield ['SELECT id, content FROM deployments WHERE instance = ?1 AND job_id = ?2', [instance, jobId]]
  return row && contentOf(row, damaged)?.job?.span
}

const columns = [
  ...['instance', 'project_id', 'project', 'job_id', 'deployment_id', 'environment', 'outcome', 'revision'],
  ...['happened_at', 'finished_at', 'content'],
]
/** The place of the outcome among the values: only what succeeded or failed is counted. */
const mayCount = columns.indexOf('outcome')

function valuesOf(deployment: Deployment, now: Millis): StepValue[] {
  const { instance, project, jobId, deploymentId, event, job } = deployment
  const view = viewDeployment(deployment)
  const happenedAt = view?.finishedAt ?? event?.facts.at ?? job?.finishedAt ?? now
  return [
    ...[instance, project.id, name(project.path), jobId ?? null, deploymentId ?? null],
    ...[name(view?.environment ?? job?.environment), view?.outcome ?? null, name(view?.revision)],
    ...[Math.round(happenedAt), view?.finishedAt === undefined ? null : Math.round(view.finishedAt)],
    JSON.stringify(deployment),
  ]
}

function name(given: string | undefined): string | null {
  return given === undefined ? null : plainText(given).slice(0, longestName)
}

function selectOwn({ instance, jobId, deploymentId }: Deployment, lock: '' | 'FOR UPDATE'): StepOf {
  return [
    `SELECT id, content, due_at, known_at, counted_at FROM deployments
     WHERE instance = ?1 AND (job_id = CAST(?2 AS bigint) OR deployment_id = CAST(?3 AS bigint)) ORDER BY id LIMIT 2 ${lock}`,
    [instance, jobId ?? null, deploymentId ?? null],
  ]
}

const inserted = [...columns, 'due_at', 'known_at']
const inserting: Readonly<Record<Listing, string>> = { 'at once': insert(1, 0), later: insert(0, 1) }
const updated = [...inserted, 'counted_at']
/** A new due time ends the lease. */
const update = `UPDATE deployments SET ${updated.map((column, at) => `${column} = ?${at + 1}`).join(', ')},
  leased = CASE WHEN due_at = ?${updated.indexOf('due_at') + 1} THEN leased ELSE 0 END WHERE id = ?${updated.length + 1}`

function insert(listed: number, recent: number): string {
  return `INSERT INTO deployments (${inserted.join(', ')}, listed, recent)
          VALUES (${inserted.map((_, at) => `?${at + 1}`).join(', ')}, ${listed}, ${recent})`
}

const idOf = number('id')
const content = (row: Row): Deployment => storedDeployment(row.content)
const dueOf = optional(number, 'due_at')
const knownOf = optional(number, 'known_at')
const countedOf = optional(number, 'counted_at')

function contentOf(row: Row, damaged: DamagedRows): Deployment | undefined {
  return damaged.orNothing({ deployment: row.id }, 'it is known by what is reported of it from now on', () =>
    content(row),
  )
}

/** The platform's ids of the deployments that these jobs made, as reported by events. */
export const selectDeploymentIds = `SELECT job_id, deployment_id FROM deployments
  WHERE instance = ?1 AND deployment_id IS NOT NULL AND job_id IN`
export const deploymentIds = record({ jobId: number('job_id'), deploymentId: number('deployment_id') })

/** The change, with these ids at the jobs of its chunks. */
export function identified(change: RunChange, known: readonly Pick<Deployment, 'jobId' | 'deploymentId'>[]): RunChange {
  const ids = new Map(
    known.flatMap(({ jobId, deploymentId }) =>
      jobId === undefined || deploymentId === undefined ? [] : [[jobId, deploymentId] as const],
    ),
  )
  if (ids.size === 0) return change
  const pending = change.pending?.map(one => {
    const jobs = one.chunk.jobs.map(job => {
      const deploymentId = ids.get(job.id)
      return deploymentId === undefined ? job : { ...job, deploymentId }
    })
    return { ...one, chunk: { ...one.chunk, jobs } }
  })
  return { ...change, pending }
}
