// A pipeline seen in a list: whether that is news, and when to ask about it. What a webhook has told already is none.
import { newestSecondOf, versioned } from '../model/versioned.ts'
import { isBlocked, isTerminal } from '../model/status.ts'
import { isFromRest } from '../model/pipeline.ts'
import { lastAttempt, type Run } from '../model/run.ts'
import { second, type Millis } from '../model/instant.ts'
import type { EnrichmentPriority } from '../store/ports/enrichment-queue.ts'
import type { PipelineListItem } from '../platform/rest/lists.ts'
import type { ProjectFacts } from '../model/observation.ts'
import type { RunWork, SourceName, StoredRun } from '../store/ports/runs.ts'

export interface NoticeRules {
  readonly blockedAfter: number
  readonly staleAfter: number
}

export interface Noticed {
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
 * Writes down that the pipeline exists, and when to ask: at once when it ended, later when it waits or runs. So a crash
 * after this forgets nothing. Nothing is written where nothing is new.
 */
export function noticing(
  { instance, item, project }: Noticed,
  source: SourceName,
  lane: EnrichmentPriority,
  rules: NoticeRules,
  onNews: () => void = () => undefined,
): RunWork {
  const key = { instance, pipelineId: item.id }
  return {
    key,
    jobs: [],
    source,
    decide: (known, now) => {
      if (known !== undefined && !isNews(known, item)) return undefined
      onNews()
      const facts = { id: item.projectId, ...project }
      const run: Run = known?.run ?? { key, project: versioned('', facts), attempts: [], jobs: new Map() }
      const at = now + delayOf(item, known, rules)
      return {
        run,
        jobs: [],
        timing: known?.timing ?? { changedAt: now },
        enrichment: { detail: 'state', priority: lane, at },
      }
    },
  }
}

function delayOf({ status }: PipelineListItem, known: StoredRun | undefined, rules: NoticeRules): number {
  if (isTerminal(status)) return known?.firstSeenBy.webhook === undefined ? 0 : webhookGrace
  return isBlocked(status) ? rules.blockedAfter : rules.staleAfter
}

/** Compared on the platform's clock alone. */
export function isNews({ run, timing }: StoredRun, { status, updatedAt }: PipelineListItem): boolean {
  const { pipeline } = run
  const last = lastAttempt(run)
  const ended = isTerminal(status)
  if (pipeline === undefined && last === undefined) return ended || isBlocked(status)
  const toldOf: Millis = Math.max(
    pipeline === undefined ? 0 : newestSecondOf(pipeline.record.version),
    second(pipeline?.times.updatedAt),
    last?.newestSecond ?? 0,
    second(last?.finish),
  )
  const knownStatus = pipeline?.record.facts.status ?? last?.status
  if (status !== knownStatus) return ended && second(updatedAt) >= toldOf
  // The platform's own word of when it last changed is exact: any later one is of another change.
  const answeredAt =
    pipeline !== undefined && isFromRest(pipeline.record.version) ? pipeline.times.updatedAt : undefined
  if (answeredAt !== undefined) return ended && updatedAt !== undefined && updatedAt > answeredAt
  if (timing.endedAt !== undefined) return false
  return ended && second(updatedAt) > toldOf + slack
}
