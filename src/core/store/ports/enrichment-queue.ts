// The enrichment queue: which runs to request from the platform's API, when, and at which level of detail. It also stores the job that triggered a
// pipeline.
import type { Millis } from '../../../model/instant.ts'
import type { RunKey } from '../../../model/observation.ts'
import type { Territory, TerritoryPart } from '../../../model/territory.ts'
import { leasedQueue, type Condition } from '../sql/leased-queue.ts'
import { number, optional, record, text, type Row, keyOf } from '../sql/columns.ts'
import { each, forRows, type Step, type StepOf } from '../sql/steps.ts'
import { keyPlaceholders, keyValues, type Statements } from '../sql/statements.ts'
import type { Job } from '../../../model/job.ts'

/**
 * The priority class of a run. `fresh`: runs that webhooks reported, and polled runs that are active or have just ended. `silent`: active runs
 * without new observations. `backfill`: runs that had ended long before a backfill or the poller found them. No class waits until another is
 * empty, but earlier classes get the API budget first.
 */
export type EnrichmentPriority = 'fresh' | 'silent' | 'backfill'

/**
 * The levels of detail of a request, from least to most. `pipeline`: the pipeline itself, if only its jobs are known. `family`: the parent of a child
 * pipeline. `state`: the pipeline's current state. `details`: its jobs and bridges, and also its state unless its end is known.
 */
export const detailLevels = ['pipeline', 'family', 'state', 'details'] as const
export type DetailLevel = (typeof detailLevels)[number]

/** How a decision on a run changes the enrichment queue. */
export type EnrichmentChange =
  /** Adds an item to the queue. If the run already has one, the higher level of detail and the earlier due time are kept. */
  | { readonly detail: DetailLevel; readonly priority: EnrichmentPriority; readonly at: Millis }
  /** Records that the run has been requested. Removes the item from the queue, or replaces it with `again`. */
  | { readonly asked: true; readonly again?: NextEnrichment | undefined }

export interface NextEnrichment {
  readonly detail: DetailLevel
  readonly at: Millis
  /** The new priority. If undefined, the priority stays the same. */
  readonly priority?: EnrichmentPriority | undefined
}

export interface EnrichmentItem {
  readonly key: RunKey
  /** The full path of the run's project, if it is known. */
  readonly path?: string | undefined
  readonly detail: DetailLevel
  /** When the item was leased, on the store's clock. */
  readonly takenAt: Millis
}

/** The job that triggered a pipeline, as reported by the pipeline that contains the job. */
export interface Trigger {
  readonly pipelineId: number
  readonly projectId: number
  readonly jobId: number
}

/** Selects which items of a queue may be leased: only those whose runs are in certain token territories, or all except those. */
export type Which = { readonly only: readonly Territory[] } | { readonly except: readonly Territory[] }

export interface CandidateRun {
  readonly key: RunKey
  readonly projectId: number
}

export type EnrichmentQueue = ReturnType<typeof enrichmentQueue>

export function enrichmentQueue(sql: Statements) {
  const queue = leasedQueue(sql, 'enrichment_queue', returning(sql), 'run_id')
  return {
    /** Leases the items that have been due the longest. Their order in the result is arbitrary. */
    take: async (
      priority: EnrichmentPriority,
      limit: number,
      leaseMs: number,
      which?: Which,
    ): Promise<readonly EnrichmentItem[]> => {
      const { rows, now } = await queue.take(limit, leaseMs, before => {
        const [where, values] = thoseIn(sql, 'run_id', which, before)
        return [`priority = '${priority}' AND ${where}`, values]
      })
      return rows.map(row => ({ key: keyOf(row), path: pathOf(row), detail: detailOf(row), takenAt: now }))
    },
    /** Extends the leases of these items to `leaseMs` from now. If `leaseMs` is 0, the items are due at once. */
    extend: async (keys: readonly RunKey[], leaseMs: number): Promise<void> => {
      if (keys.length === 0) return
      const own = `run_id IN (SELECT id FROM runs WHERE (instance, pipeline_id) IN ${keyPlaceholders(keys)})`
      await queue.extend([own, keyValues(keys)], leaseMs)
    },
    /** Releases an item that was leased but not requested. The item is due again in `ms`. */
    defer: async ({ instance, pipelineId }: RunKey, ms: number): Promise<void> => {
      const own = 'run_id = (SELECT id FROM runs WHERE instance = ?1 AND pipeline_id = ?2)'
      await queue.defer([`leased = 1 AND ${own}`, [instance, pipelineId]], ms)
    },
    /** Returns how many runs are due now or leased, and how many are due later. */
    count: async (priority: EnrichmentPriority): Promise<{ readonly due: number; readonly later: number }> => {
      const rows = await sql.all(
        `SELECT count(*) FILTER (WHERE due_at <= ?1 OR leased = 1) AS due,
                count(*) FILTER (WHERE due_at > ?1 AND leased = 0) AS later FROM enrichment_queue WHERE priority = ?2`,
        [await sql.now(), priority],
      )
      return rows.map(counts)[0] ?? { due: 0, later: 0 }
    },
    /**
     * Extends the deadlines of ended runs by `ms`, because the API was unavailable for that time, but not beyond `limitMs` after the end of a run.
     * `only` limits this to the runs in one territory.
     */
    postpone: async (priority: EnrichmentPriority, ms: number, limitMs: number, only?: Territory): Promise<void> => {
      const [within, values] = thoseIn(sql, 'run_id', only && { only: [only] }, 4)
      await sql.change(
        `UPDATE runs SET enriching_until =
           CASE WHEN enriching_until + ?1 < ended_at + ?2 THEN enriching_until + ?1 ELSE ended_at + ?2 END
         WHERE id IN (SELECT run_id FROM enrichment_queue WHERE priority = ?4 AND (due_at <= ?3 OR leased = 1) AND ${within})
           AND enriching_until < ended_at + ?2`,
        [ms, limitMs, await sql.now(), priority, ...values],
      )
    },
    triggerOf: async ({ instance, pipelineId }: RunKey): Promise<Trigger | undefined> => {
      const rows = await sql.all(
        `SELECT r.pipeline_id, r.project_id, t.job_id FROM triggers t JOIN runs r ON r.id = t.run_id
         WHERE t.instance = ?1 AND t.pipeline_id = ?2`,
        [instance, pipelineId],
      )
      return rows.map(trigger)[0]
    },
    /**
     * Returns the runs that may have triggered this one: runs with a lower id, without a snapshot and not known to have ended, starting with the
     * nearest id. The search covers one project or all projects.
     */
    candidates: async (
      { instance, pipelineId }: RunKey,
      projectId: number | undefined,
      limit: number,
    ): Promise<readonly CandidateRun[]> => {
      const rows = await sql.all(
        `SELECT instance, pipeline_id, project_id FROM runs
         WHERE instance = ?1 AND pipeline_id < ?2 AND attempts = 0 AND (CAST(?3 AS bigint) IS NULL OR project_id = ?3)
           AND coalesce(status, '') NOT IN ('success', 'failed', 'canceled', 'skipped')
         ORDER BY pipeline_id DESC LIMIT ?4`,
        [instance, pipelineId, projectId ?? null, limit],
      )
      return rows.map(row => ({ key: keyOf(row), projectId: projectOf(row) }))
    },
  }
}

const returning = ({
  pathOfRun,
}: Statements): string => `detail, (SELECT instance FROM runs WHERE id = run_id) AS instance,
  (SELECT pipeline_id FROM runs WHERE id = run_id) AS pipeline_id, (SELECT ${pathOfRun} FROM runs WHERE id = run_id) AS path`
const pathOf = optional(text, 'path')
const counts = record({ due: number('due'), later: number('later') })
const projectOf = number('project_id')
const level = number('detail')
const detailOf = (row: Row): EnrichmentItem['detail'] => detailLevels[level(row)] ?? 'details'
const trigger = record({
  pipelineId: number('pipeline_id'),
  projectId: number('project_id'),
  jobId: number('job_id'),
})

export function enrichmentChange(runId: number, change: EnrichmentChange): StepOf {
  if ('detail' in change) {
    const rank = detailLevels.indexOf(change.detail)
    return [askFor, [runId, change.priority, rank, change.at]]
  }
  if (change.again === undefined) return ['DELETE FROM enrichment_queue WHERE run_id = ?1 AND leased = 1', [runId]]
  const { detail, at, priority } = change.again
  return [askAgain, [runId, detailLevels.indexOf(detail), at, priority ?? null]]
}

/** If an item is added twice, the higher level of detail and the earlier due time are kept. An item that becomes due earlier loses its lease. */
const askFor = `
  INSERT INTO enrichment_queue AS known (run_id, priority, detail, due_at, leased) VALUES (?1, ?2, ?3, ?4, 0)
  ON CONFLICT (run_id) DO UPDATE SET
    priority = CASE WHEN known.priority = 'fresh' OR excluded.priority = 'silent' THEN known.priority ELSE excluded.priority END,
    detail = CASE WHEN known.detail > excluded.detail THEN known.detail ELSE excluded.detail END,
    due_at = CASE WHEN known.due_at < excluded.due_at THEN known.due_at ELSE excluded.due_at END,
    leased = CASE WHEN known.due_at <= excluded.due_at THEN known.leased ELSE 0 END`

const askAgain = `
  UPDATE enrichment_queue SET detail = ?2, due_at = ?3, priority = coalesce(?4, priority), leased = 0
  WHERE run_id = ?1 AND leased = 1`

/** If two jobs in a transaction triggered the same pipeline, the later one is stored. */
export function writeTriggers(
  jobs: readonly { readonly runId: number; readonly instance: string; readonly job: Job }[],
): Step {
  const rows = new Map(
    jobs.flatMap(({ runId, instance, job }) => {
      const child = job.record.facts.downstream?.pipelineId
      return child === undefined ? [] : [[`${instance}\n${child}`, [instance, child, runId, job.id]] as const]
    }),
  )
  return each(insertTriggers, [...rows.values()])
}

const insertTriggers = forRows(
  ['text', 'bigint', 'bigint', 'bigint'],
  ({ rows }) => `
  INSERT INTO triggers (instance, pipeline_id, run_id, job_id) ${rows}
  ON CONFLICT (instance, pipeline_id) DO UPDATE SET run_id = excluded.run_id, job_id = excluded.job_id`,
)

// Builds the SQL condition that selects the rows of a queue by token territory.

/**
 * Returns the condition for the rows that may be leased; undefined means all rows. `run` is the column with the id of a row's run. The condition's
 * placeholders are numbered from `before` + 1.
 */
export function thoseIn(
  sql: Pick<Statements, 'pathOfRun'>,
  run: string,
  which: Which | undefined,
  before: number,
): Condition {
  if (which === undefined) return ['due_at IS NOT NULL', []]
  if ('only' in which) return inTerritories(sql, run, which.only, before)
  const [within, values] = inTerritories(sql, run, which.except, before)
  return [`NOT ${within}`, values]
}

function inTerritories(
  sql: Pick<Statements, 'pathOfRun'>,
  run: string,
  territories: readonly Territory[],
  before: number,
): Condition {
  if (territories.length === 0) return ['1 = 0', []]
  const values: string[] = []
  const place = (value: string): string => `CAST(?${before + values.push(value)} AS text)`
  const below = (group: string): string => {
    if (group === '') return '1 = 1'
    const prefix = place(`${group.toLowerCase()}/`)
    return `substr(lower(coalesce(${sql.pathOfRun}, '')), 1, length(${prefix})) = ${prefix}`
  }
  const part = ({ group, except }: TerritoryPart): string =>
    [below(group), ...except.map(one => `NOT ${below(one)}`)].join(' AND ')
  const within = territories.map(
    ({ instance, parts }) => `(runs.instance = ${place(instance)} AND (${parts.map(part).join(' OR ')}))`,
  )
  return [`EXISTS (SELECT 1 FROM runs WHERE runs.id = ${run} AND (${within.join(' OR ')}))`, values]
}
