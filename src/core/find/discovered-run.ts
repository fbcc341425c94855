// Decides whether a pipeline in a platform's list shows new facts, and when to fetch the pipeline. Facts that a webhook has reported are not new.
import { knownOf, newestSecondOf, versioned } from '../../model/versioned.ts'
import { isBlocked, isTerminal } from '../../model/status.ts'
import { isFromRest } from '../../model/pipeline.ts'
import { lastAttempt, type Run } from '../../model/run.ts'
import { second, type Millis } from '../../model/instant.ts'
import type { EnrichmentPriority } from '../store/ports/enrichment-queue.ts'
import type { ListedPipeline } from '../../platform/port.ts'
import type { ObservedPipeline, ProjectFacts } from '../../model/observation.ts'
import type { RunWork, SourceName, StoredRun } from '../store/ports/runs.ts'

export interface DiscoveryRules {
  readonly blockedAfter: number
  readonly staleAfter: number
  /** Whether to fetch an active pipeline as soon as it is found. Default: false, because webhooks report active pipelines. */
  readonly fetchActive?: boolean | undefined
}

export interface DiscoveredRun {
  readonly instance: string
  readonly item: ListedPipeline
  /** The facts of the pipeline's project other than its id, if they are known. */
  readonly project?: ProjectFacts | undefined
}

/**
 * The time in ms that the poller waits for the webhook that reports a pipeline's end. If webhooks have reported the pipeline before, that webhook is
 * probably on its way.
 */
const webhookGrace = 5_000
/** A pipeline that ended within this time (ms) does not count as history, which is fetched last. */
const recent = 5 * 60_000
/**
 * The maximum difference in seconds between two times that still count as equal. Webhooks round the end down to whole seconds and lack `updated_at`,
 * which is slightly later.
 */
const slack = 1

/**
 * Stores that the pipeline exists and when to fetch it: at once if it has ended, later if it is waiting or running, unless the rules specify
 * otherwise. If the list shows no new facts, nothing is written.
 */
export function discover(
  { instance, item, project }: DiscoveredRun,
  source: SourceName,
  priorityOf: (known: StoredRun | undefined) => EnrichmentPriority,
  rules: DiscoveryRules,
  onNew: () => void = () => undefined,
): RunWork {
  const key = { instance, pipelineId: item.id }
  return {
    key,
    jobs: [],
    source,
    decide: (known, now) => {
      if (known !== undefined && !isNew(known, item)) return undefined
      onNew()
      const facts = { ...item.project, ...project }
      const run: Run = {
        ...(known?.run ?? { key, project: versioned('', facts), attempts: [], jobs: new Map() }),
        listed: listedOf(item),
        ...(item.mergeRequest && { listedMergeRequest: item.mergeRequest }),
      }
      const at = now + delayOf(item, known, rules)
      return {
        run,
        timing: known?.timing ?? { changedAt: now },
        enrichment: { detail: 'state', priority: priorityOf(known), at },
      }
    },
  }
}

/** Returns the time of a listed pipeline's last change; undefined if the list has no times. */
export function changedAt({ updatedAt, finishedAt, createdAt }: ListedPipeline): Millis | undefined {
  return updatedAt ?? finishedAt ?? createdAt
}

function listedOf({ status, facts, mergeRequest, createdAt, finishedAt, updatedAt }: ListedPipeline): ObservedPipeline {
  return {
    facts: knownOf({ ...facts, status, mergeRequest: mergeRequest ?? facts?.mergeRequest }),
    times: knownOf({ createdAt, finishedAt, updatedAt }),
  }
}

/**
 * True for a pipeline that ended long ago and that no webhook reported. Fetching it must not delay active or recent pipelines. `now` is the time on
 * the platform's clock.
 */
export function isHistory(item: ListedPipeline, known: StoredRun | undefined, now: Millis): boolean {
  const { webhook } = known?.firstSeenBy ?? {}
  return isTerminal(item.status) && webhook === undefined && (changedAt(item) ?? now) < now - recent
}

function delayOf({ status }: ListedPipeline, known: StoredRun | undefined, rules: DiscoveryRules): number {
  if (isTerminal(status)) return known?.firstSeenBy.webhook === undefined ? 0 : webhookGrace
  if (rules.fetchActive === true && known === undefined) return 0
  if (isBlocked(status) && known !== undefined && known.run.attempts.length > 0) return 0
  return isBlocked(status) ? rules.blockedAfter : rules.staleAfter
}

/** True if the listed pipeline shows new facts. Only times from the platform's clock are compared. */
export function isNew({ run, timing }: StoredRun, { status, updatedAt }: ListedPipeline): boolean {
  const { pipeline, listed } = run
  const last = lastAttempt(run)
  // An exported pipeline that is blocked may have run on since: somebody may have played one of its manual jobs.
  const isOver = isTerminal(status) || (last !== undefined && isBlocked(status))
  // The pipeline is already in the enrichment queue because of this state.
  if (listed?.facts.status === status && (updatedAt ?? 0) <= (listed.times.updatedAt ?? 0)) return false
  if (pipeline === undefined && last === undefined) return isOver || isBlocked(status)
  const knownUpTo: Millis = Math.max(
    pipeline === undefined ? 0 : newestSecondOf(pipeline.record.version),
    second(pipeline?.times.updatedAt),
    last?.newestSecond ?? 0,
    second(last?.finish),
  )
  const knownStatus = pipeline?.record.facts.status ?? last?.status
  if (status !== knownStatus) return isOver && (updatedAt === undefined || second(updatedAt) >= knownUpTo)
  // The platform's `updated_at` is exact. If it is later than the stored value, the pipeline has changed again.
  const answeredAt =
    pipeline !== undefined && isFromRest(pipeline.record.version) ? pipeline.times.updatedAt : undefined
  if (answeredAt !== undefined) return isOver && updatedAt !== undefined && updatedAt > answeredAt
  if (timing.endedAt !== undefined) return false
  return isOver && second(updatedAt) > knownUpTo + slack
}
