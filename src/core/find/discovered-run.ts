// Decides whether a pipeline in one of the platform's lists shows anything new, and when to fetch it. What a webhook reported is not new.
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
  /** Whether a pipeline that has not ended is fetched as soon as it is found. Default: no, because webhooks report what runs. */
  readonly fetchActive?: boolean | undefined
}

export interface DiscoveredRun {
  readonly instance: string
  readonly item: ListedPipeline
  /** What is known of its project besides its id. */
  readonly project?: ProjectFacts | undefined
}

/** If webhooks reported this pipeline before, the webhook of its end is probably on its way: wait this long for it, ms. */
const webhookGrace = 5_000
/** A pipeline that ended within this time is not history, ms. */
const recent = 5 * 60_000
/** Webhooks round the end down to whole seconds and lack `updated_at`, which is a moment later: differences up to this, in s, are ignored. */
const slack = 1

/**
 * Stores that the pipeline exists and when to fetch it: at once if it has ended, later if it waits or runs, unless the rules say otherwise. If there is
 * nothing new, nothing is written.
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

/** When a pipeline in a list last changed. Undefined if the list has no time at all. */
export function changedAt({ updatedAt, finishedAt, createdAt }: ListedPipeline): Millis | undefined {
  return updatedAt ?? finishedAt ?? createdAt
}

function listedOf({ status, facts, mergeRequest, createdAt, finishedAt, updatedAt }: ListedPipeline): ObservedPipeline {
  return {
    facts: knownOf({ ...facts, status, mergeRequest: mergeRequest ?? facts?.mergeRequest }),
    times: knownOf({ createdAt, finishedAt, updatedAt }),
  }
}

/** True for a pipeline that ended long ago and that no webhook reported: it must not delay active or recent ones. `now`: the platform's time. */
export function isHistory(item: ListedPipeline, known: StoredRun | undefined, now: Millis): boolean {
  const { webhook } = known?.firstSeenBy ?? {}
  return isTerminal(item.status) && webhook === undefined && (changedAt(item) ?? now) < now - recent
}

function delayOf({ status }: ListedPipeline, known: StoredRun | undefined, rules: DiscoveryRules): number {
  if (isTerminal(status)) return known?.firstSeenBy.webhook === undefined ? 0 : webhookGrace
  if (rules.fetchActive === true && known === undefined) return 0
  return isBlocked(status) ? rules.blockedAfter : rules.staleAfter
}

/** True if the item shows something new. Compares only times of the platform's clock. */
export function isNew({ run, timing }: StoredRun, { status, updatedAt }: ListedPipeline): boolean {
  const { pipeline, listed } = run
  const last = lastAttempt(run)
  const ended = isTerminal(status)
  // It is in the enrichment queue already.
  if (listed?.facts.status === status && (updatedAt ?? 0) <= (listed.times.updatedAt ?? 0)) return false
  if (pipeline === undefined && last === undefined) return ended || isBlocked(status)
  const knownUpTo: Millis = Math.max(
    pipeline === undefined ? 0 : newestSecondOf(pipeline.record.version),
    second(pipeline?.times.updatedAt),
    last?.newestSecond ?? 0,
    second(last?.finish),
  )
  const knownStatus = pipeline?.record.facts.status ?? last?.status
  if (status !== knownStatus) return ended && (updatedAt === undefined || second(updatedAt) >= knownUpTo)
  // The platform's `updated_at` is exact: a later one means another change.
  const answeredAt =
    pipeline !== undefined && isFromRest(pipeline.record.version) ? pipeline.times.updatedAt : undefined
  if (answeredAt !== undefined) return ended && updatedAt !== undefined && updatedAt > answeredAt
  if (timing.endedAt !== undefined) return false
  return ended && second(updatedAt) > knownUpTo + slack
}
