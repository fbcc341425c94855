// A pipeline seen in a list of the platform: whether it shows something new, and when to fetch it. What a webhook reported already is not
// new.
import { newestSecondOf, versioned } from '../model/versioned.ts'
import { isBlocked, isTerminal } from '../model/status.ts'
import { isFromRest } from '../model/pipeline.ts'
import { lastAttempt, type Run } from '../model/run.ts'
import { second, type Millis } from '../model/instant.ts'
import type { EnrichmentPriority } from '../store/ports/enrichment-queue.ts'
import type { PipelineListItem } from '../platform/rest/lists.ts'
import type { ProjectFacts } from '../model/observation.ts'
import type { RunWork, SourceName, StoredRun } from '../store/ports/runs.ts'

export interface DiscoveryRules {
  readonly blockedAfter: number
  readonly staleAfter: number
}

export interface DiscoveredRun {
  readonly instance: string
  readonly item: PipelineListItem
  /** What is known of its project besides its id. */
  readonly project?: ProjectFacts | undefined
}

/** A webhook of the same end is probably under way: it is given this long, ms. */
const webhookGrace = 5_000
/** Webhooks cut the end to its second, and have no `updated_at`, which the platform writes a moment later: s. */
const slack = 1

/**
 * Stores that the pipeline exists and when to fetch it: at once when it ended, later when it waits or runs. So a crash after this
 * forgets nothing. Nothing is written where nothing is new.
 */
export function discover(
  { instance, item, project }: DiscoveredRun,
  source: SourceName,
  priority: EnrichmentPriority,
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
      const facts = { id: item.projectId, ...project }
      const run: Run = known?.run ?? { key, project: versioned('', facts), attempts: [], jobs: new Map() }
      const at = now + delayOf(item, known, rules)
      return {
        run,
        jobs: [],
        timing: known?.timing ?? { changedAt: now },
        enrichment: { detail: 'state', priority, at },
      }
    },
  }
}

function delayOf({ status }: PipelineListItem, known: StoredRun | undefined, rules: DiscoveryRules): number {
  if (isTerminal(status)) return known?.firstSeenBy.webhook === undefined ? 0 : webhookGrace
  return isBlocked(status) ? rules.blockedAfter : rules.staleAfter
}

/** Compared on the platform's clock alone. */
export function isNew({ run, timing }: StoredRun, { status, updatedAt }: PipelineListItem): boolean {
  const { pipeline } = run
  const last = lastAttempt(run)
  const ended = isTerminal(status)
  if (pipeline === undefined && last === undefined) return ended || isBlocked(status)
  const knownUpTo: Millis = Math.max(
    pipeline === undefined ? 0 : newestSecondOf(pipeline.record.version),
    second(pipeline?.times.updatedAt),
    last?.newestSecond ?? 0,
    second(last?.finish),
  )
  const knownStatus = pipeline?.record.facts.status ?? last?.status
  if (status !== knownStatus) return ended && second(updatedAt) >= knownUpTo
  // The platform's `updated_at` is exact: a later one means another change.
  const answeredAt =
    pipeline !== undefined && isFromRest(pipeline.record.version) ? pipeline.times.updatedAt : undefined
  if (answeredAt !== undefined) return ended && updatedAt !== undefined && updatedAt > answeredAt
  if (timing.endedAt !== undefined) return false
  return ended && second(updatedAt) > knownUpTo + slack
}
