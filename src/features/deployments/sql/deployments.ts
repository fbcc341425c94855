// Stores reports of deployments in SQLite and PostgreSQL, and compares deployments when they are counted.
import { countable, updateRow, writeReported, type CountedTable, type Reported } from './counted.ts'
import { deploymentOf, deploymentReads, figuresColumn } from './deployment-reads.ts'
import { each, forRows, forUpdate, type Steps, type Within } from '../../../core/store/sql/steps.ts'
import { joinWaiting, nameOfJob } from '../../../core/store/sql/events.ts'
import { ownerOfReport } from '../../../core/store/sql/owners.ts'
import { number, optional, plainText, record, text, type Column, type Row } from '../../../core/store/sql/columns.ts'
import { leasedQueue } from '../../../core/store/sql/leased-queue.ts'
import { lockOf, neighbours } from './deployment-neighbours.ts'
import { mergeDeployment, viewDeployment, type Deployment } from '../model/deployment.ts'
import { placeholders, type Statements } from '../../../core/store/sql/statements.ts'
import { unbounded } from '../../../core/store/sql/reading.ts'
import type { DeploymentFigures, Neighbours } from '../model/deployment-figures.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Reporter, RunChange } from '../../../core/store/ports/runs.ts'
import type { Run } from '../../../model/run.ts'

/** The platform's limit for the length of an environment name. */
const maxName = 255

/** Selects later successful deployments to the environment of deployment `d`. */
const laterSuccess = `
  SELECT 1 FROM deployments l WHERE l.instance = d.instance AND l.project_id = d.project_id AND l.environment = d.environment
    AND l.outcome = 'succeeded' AND l.finished_at > d.finished_at`

const deploymentTable: CountedTable<Deployment, DeploymentFigures, Neighbours> = {
  table: 'deployments',
  content: deploymentOf,
  merge: mergeDeployment,
  own: function* ({ instance, jobId, deploymentId }, within) {
    const own = `SELECT * FROM deployments
      WHERE instance = ?1 AND (job_id = CAST(?2 AS bigint) OR deployment_id = CAST(?3 AS bigint)) ORDER BY id LIMIT 2`
    const [row, twin] = yield [`${own} ${forUpdate(within)}`, [instance, jobId ?? null, deploymentId ?? null]]
    return row === undefined || twin === undefined ? row : yield* joined(row, twin, within)
  },
  columns: [
    ...['instance', 'project_id', 'project', 'job_id', 'deployment_id', 'environment', 'outcome', 'revision'],
    ...['happened_at', 'finished_at'],
  ],
  values: (deployment, now) => {
    const { instance, project, jobId, deploymentId, event, job } = deployment
    const view = viewDeployment(deployment)
    const happenedAt = view?.finishedAt ?? event?.facts.at ?? job?.finishedAt ?? now
    return [
      ...[instance, project.id, name(project.path), jobId ?? null, deploymentId ?? null],
      ...[name(view?.environment ?? job?.environment), view?.outcome ?? null, name(view?.revision)],
      ...[Math.round(happenedAt), view?.finishedAt === undefined ? null : Math.round(view.finishedAt)],
    ]
  },
  // Only deployments that succeeded or failed are counted.
  uncounted: (deployment, row) => {
    const isCounted = row !== undefined && countedAtOf(row) !== undefined
    return isCounted || viewDeployment(deployment)?.outcome === undefined ? [] : ['end']
  },
  isKnownLater: true,
  state: figuresColumn,
  setCounted: 'counted_at = ?2, figures = ?3',
  countedValues: (figures, now) => [now, figures === undefined ? null : JSON.stringify(figures)],
  compared: { lock: lockOf, around: neighbours },
  pruned: {
    where: `d.happened_at < ?1 AND d.due_at IS NULL AND (d.outcome IS NULL OR d.outcome <> 'succeeded' OR EXISTS (${laterSuccess}))`,
    by: 'happened_at',
  },
}

/**
 * Joins two rows of one deployment. An event without a job and the job's own report create two rows; they are joined once an event names both the
 * deployment and its job.
 */
function* joined(row: Row, twin: Row, { now, damaged }: Within): Steps<Row> {
  yield ['DELETE FROM deployments WHERE id = ?1', [idOf(twin)]]
  const known = damaged.row('deployments', row, deploymentTable.content)
  const other = damaged.row('deployments', twin, deploymentTable.content)
  const of = known === undefined || other === undefined ? (known ?? other) : mergeDeployment(known, other)
  if (of === undefined) return row
  const either = <T>(column: Column<T | undefined>): T | null => column(row) ?? column(twin) ?? null
  const [countedAt, figures, knownAt] = [either(countedAtOf), either(optional(text, 'figures')), either(knownAtOf)]
  const due = countedAt === null ? either(dueOf) : null
  yield updateRow(deploymentTable, row, { of, due, knownAt, now })
  yield ['UPDATE deployments SET counted_at = ?1, figures = ?2 WHERE id = ?3', [countedAt, figures, idOf(row)]]
  return { ...row, content: JSON.stringify(of), due_at: due, known_at: knownAt, counted_at: countedAt, figures }
}

function name(given: string | undefined): string | null {
  return given === undefined ? null : plainText(given).slice(0, maxName)
}

/** Writes reports of deployments. If a report has the job's span, the events that waited for that span get it here. */
function* writeDeployments(reported: readonly Reported<Deployment>[], within: Within): Steps<void> {
  yield* writeReported(deploymentTable, reported, within)
  for (const { report } of reported) {
    const { job, instance } = report
    if (job !== undefined) yield* joinWaiting(instance, job.span, within)
  }
}

function namesOfDeployment({ instance, jobId, deploymentId }: Deployment): string[] {
  const own = deploymentId === undefined ? [] : [`deployment ${deploymentId} ${instance}`]
  return jobId === undefined ? own : [...own, nameOfJob(instance, jobId)]
}

/** Adds deployment ids to the jobs in a run's chunks. The ids come from earlier events about the jobs' deployments, or from `earlier`. */
function* withDeploymentIds(
  change: RunChange,
  own: readonly Reported<Deployment>[],
  earlier: readonly Reported<Deployment>[],
): Steps<RunChange> {
  const { instance } = change.run.key
  const jobs = own.flatMap(({ report: { jobId } }) => jobId ?? [])
  if (jobs.length === 0) return change
  const rows = (yield each(
    selectIds,
    jobs.map(job => [instance, job]),
  )).map(idsOf)
  const ids = new Map<number | undefined, number | undefined>()
  for (const { jobId, deploymentId } of [...rows, ...earlier.map(({ report }) => report)])
    if (deploymentId !== undefined) ids.set(jobId, deploymentId)
  const pending = change.pending?.map(one => {
    const known = one.chunk.jobs.map(job => {
      const deploymentId = ids.get(job.id)
      return deploymentId === undefined ? job : { ...job, deploymentId }
    })
    return { ...one, chunk: { ...one.chunk, jobs: known } }
  })
  const run = change.pending === undefined ? change.run : withIds(change.run, change.pending, ids)
  return { ...change, run, pending }
}

/** Returns the run with deployment ids set on the jobs whose spans are pending. */
function withIds(
  run: Run,
  pending: NonNullable<RunChange['pending']>,
  ids: ReadonlyMap<number | undefined, number | undefined>,
): Run {
  const jobs = new Map(run.jobs)
  for (const { id } of pending.flatMap(({ chunk }) => chunk.jobs)) {
    const [job, deploymentId] = [jobs.get(id), ids.get(id)]
    if (job?.snapshot !== undefined && deploymentId !== undefined)
      jobs.set(id, { ...job, snapshot: { ...job.snapshot, deploymentId } })
  }
  return { ...run, jobs }
}

const selectIds = forRows(
  ['text', 'bigint'],
  ({ among }) =>
    `SELECT job_id, deployment_id FROM deployments WHERE deployment_id IS NOT NULL AND ${among('instance', 'job_id')}`,
)
const idsOf = record({ jobId: number('job_id'), deploymentId: number('deployment_id') })

export const deploymentReporter: Reporter<Reported<Deployment>> = {
  order: 10,
  locks: ({ report }) => namesOfDeployment(report),
  write: writeDeployments,
  owner: ({ report }) => ownerOfReport(report, report.event),
  complete: withDeploymentIds,
}

/** A deployment whose commits must be requested before it is counted. */
export interface DueDeployment {
  readonly id: number
  readonly deployment: Deployment
  /** The number of failed requests for the commits of this deployment. */
  readonly tries: number
}

interface KeptEarly {
  /** Deployments before this time are deleted even if they are the last of their environment. */
  readonly lastSince: Millis
  /** Deployments after this time are kept if only events have reported them, because their job's pipeline would report them again. */
  readonly withoutJobSince: Millis
}

/**
 * Deletes deployments before their usual retention ends, because the store is nearly full. A span in a row's content means that a job has reported
 * the deployment.
 */
const deleteEarly = `
  DELETE FROM deployments AS d WHERE d.id > ?1 AND d.id <= ?2 AND d.due_at IS NULL AND coalesce(d.known_at, d.happened_at) < ?3
    AND (coalesce(d.known_at, d.happened_at) < ?5 OR d.content LIKE '%"span":{%')
    AND (d.outcome IS NULL OR d.happened_at < ?4 OR EXISTS (${laterSuccess} AND l.counted_at IS NOT NULL))`

export type Deployments = ReturnType<typeof deployments>

/** `prune` deletes old deployments that are not waiting to be counted, except the last success of each environment. */
export function deployments(sql: Statements) {
  const queue = leasedQueue(sql, 'deployments', '*')
  const { damaged } = sql
  return {
    ...countable(sql, deploymentTable),
    ...deploymentReads(unbounded(sql)),
    /**
     * Goes through the next `limit` rows by id after `from`. Deletes those that were first reported before `before`, are not waiting to be counted,
     * and whose environment has a later success that was counted (`KeptEarly` has the exceptions). `next` is where the next call continues; it is
     * undefined at the end.
     */
    pruneEarly: async (
      before: Millis,
      limit: number,
      from = -1,
      { lastSince, withoutJobSince }: KeptEarly,
    ): Promise<{ readonly pruned: number; readonly next?: number | undefined }> => {
      const rows = await sql.all('SELECT id, known_at FROM deployments WHERE id > ?1 ORDER BY id LIMIT ?2', [
        from,
        limit,
      ])
      const last = rows.at(-1)
      if (last === undefined) return { pruned: 0 }
      const pruned = await sql.change(deleteEarly, [from, idOf(last), before, lastSince, withoutJobSince])
      return { pruned, next: rows.length < limit || (knownAtOf(last) ?? 0) >= before ? undefined : idOf(last) }
    },
    /** Leases due deployments that wait for their commits, earliest due first. Damaged rows are never leased again. */
    take: async (limit: number, leaseMs: number) => {
      const { rows } = await queue.take(limit, leaseMs, () => ['apart = 1', []])
      const due: DueDeployment[] = []
      for (const row of rows) {
        const one = damaged.row('deployments', row, dueDeployment)
        if (one !== undefined) due.push(one)
        else await sql.change('UPDATE deployments SET due_at = NULL, leased = 0 WHERE id = ?1', [idOf(row)])
      }
      return due.sort((a, b) => a.id - b.id)
    },
    /** Extends the leases of these deployments to `leaseMs` from now. If `leaseMs` is 0, they are due at once. */
    extend: async (ids: readonly number[], leaseMs: number) => {
      if (ids.length > 0) await queue.extend([`id IN (${placeholders(ids)})`, ids], leaseMs)
    },
    /** Returns the other deployments to the environment of this deployment, or undefined if it is not waiting to be counted. */
    around: async (id: number): Promise<Neighbours | undefined> =>
      sql.transaction(function* () {
        const [own] = yield ['SELECT * FROM deployments WHERE id = ?1 AND due_at IS NOT NULL', [id]]
        return own && (yield* neighbours(own, damaged))
      }),
  }
}

const dueOf = optional(number, 'due_at')
const knownAtOf = optional(number, 'known_at')
const countedAtOf = optional(number, 'counted_at')
const idOf = number('id')
const dueDeployment: Column<DueDeployment> = record({ id: idOf, deployment: deploymentOf, tries: number('tries') })
