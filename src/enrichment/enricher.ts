// Completes what webhooks leave out: asks the platform about the runs that are due in the enrichment queue, fresh pipelines before those
// of a backfill. No run waits longer than its deadline. A run under way that is silent for too long is asked about too (`silence.ts`):
// so an end is found whose webhook was lost. Deadlines are extended while the API budget is used up; while the platform does not answer,
// they run.
import { fetchRun } from './fetch-run.ts'
import { backoff } from '../lib/backoff.ts'
import { createLoop, type Loop } from '../lib/loop.ts'
import { createParents } from './parents.ts'
import { createSilence } from '../processing/silence.ts'
import { giveUp, tryLater, applyAnswer } from './apply-answers.ts'
import { observedRun, mergeRun, type Run } from '../model/run.ts'
import { isAtEnd } from '../model/attempt.ts'
import { isBlocked, isTerminal } from '../model/status.ts'
import { PlatformError } from '../platform/rest/platform-error.ts'
import { sparseWarnings } from '../lib/sparse-warnings.ts'
import type { MergeRules } from '../processing/merge-observations.ts'
import type { EnrichmentItem, EnrichmentQueue, EnrichmentPriority } from '../store/ports/enrichment-queue.ts'
import type { Budget } from '../platform/rest/budget.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import type { TrendViews } from '../store/ports/trends.ts'
import type { Priority } from '../platform/rest/budget.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { PlatformClient } from '../platform/rest/client.ts'
import type { Runs, StoredRun } from '../store/ports/runs.ts'
import type { Selection } from '../processing/selection.ts'
import type { ErrorThrottle } from '../platform/rest/error-throttle.ts'

export interface EnricherOptions {
  readonly client: PlatformClient
  readonly budget: Budget
  readonly runs: Runs
  readonly queue: EnrichmentQueue
  /** How long pipelines take. */
  readonly trends: Pick<TrendViews, 'series'>
  readonly rules: MergeRules
  readonly selection: Selection
  /** The store's clock, which also says when a run was first seen. */
  readonly storeNow: () => Promise<Millis>
  readonly traceparent: boolean
  readonly errors: ErrorThrottle
  /** Called with the projects whose pipelines a run has triggered. */
  readonly onTriggered: (projectId: number) => void
  /** Called with the projects of runs whose end was observed: the poller should know them. */
  readonly onEnded: (projectId: number) => void
  /** Called with the project of a run whose end no source reported: there may be more of them. */
  readonly onMissed: (projectId: number) => void
  /** Called after a run changed: the settle loop may have something to do. */
  readonly onChange: () => void
  readonly clock: Clock
  readonly log: Log
}

/** Counted since start. */
export interface EnricherCounters {
  /** Runs that were asked about and answered for, but for those missed. */
  completed: number
  /** Silent runs that had ended, as the answer says: the webhook of their end was lost. */
  missed: number
  /** The platform knows no such pipeline (any more). */
  gone: number
  /** Requests without an answer; most are tried again later. */
  failed: number
}

export interface Enricher extends Loop {
  readonly counters: Readonly<EnricherCounters>
  /** Asks about all that is due now. */
  drain(): Promise<void>
}

/** Runs asked about at the same time, by priority. */
const places: Readonly<Record<EnrichmentPriority, number>> = { fresh: 8, silent: 2, backfill: 2 }
const enrichmentPriorities: readonly EnrichmentPriority[] = ['fresh', 'silent', 'backfill']
/** Runs whose end is known come first; those that are only silent leave the API budget to them. */
const requestPriorities: Readonly<Record<EnrichmentPriority, Priority>> = {
  fresh: 'enrich',
  silent: 'poll',
  backfill: 'backfill',
}
/** Longer than a request may take; renewed while it does. */
const leaseMs = 90_000
const renewMs = 30_000
/** No export waits longer for the API budget, counted from when the pipeline's end was observed, ms. */
const longestWait = 15 * 60_000
const turnMs = 1_000
const sameUrl = 'Set PIPESPAN_PLATFORM_URL to the address that the platform gives itself.'

interface InHand {
  readonly key: EnrichmentItem['key']
  readonly priority: EnrichmentPriority
  readonly done: Promise<void>
}

export function createEnricher(options: EnricherOptions): Enricher {
  const { client, budget, runs, queue, rules, selection, storeNow, errors, clock, log } = options
  const counters: EnricherCounters = { completed: 0, missed: 0, gone: 0, failed: 0 }
  const parents = createParents({ client, runs, queue, rules, selection, storeNow })
  const silence = createSilence({ ...rules, trends: options.trends, now: () => clock.now() })
  const warn = sparseWarnings(log, () => elapsed(clock))
  const inFlight = new Map<string, InHand>()
  const closing = new AbortController()
  let failures = 0
  let restUntil = 0
  let lastTurn = elapsed(clock)
  let renewedAt = elapsed(clock)

  async function enrich(asked: EnrichmentItem, priority: EnrichmentPriority): Promise<void> {
    const { key, detail, takenAt } = asked
    const known = await runs.get(key)
    if (known === undefined) return
    if (key.instance !== client.instance) {
      warn('instance', `Webhooks come from ${key.instance}, which is not asked for details. ${sameUrl}`)
      await runs.transact([giveUp(asked, priority, 'foreign')])
      return
    }
    const left = priority === 'silent' ? await silence.left(known, takenAt) : 0
    if (left > 0) {
      await queue.defer(key, left)
      return
    }
    const subject = `project ${known.run.project.facts.path ?? known.run.project.facts.id}`
    const call = { priority: requestPriorities[priority], signal: closing.signal }
    try {
      const answer = await fetchRun(known.run, detail, call, options)
      const run = answer === undefined ? known.run : mergeRun(known.run, observedRun(answer))
      const family = needsParent(run) ? await parents.find(run, firstSeenAt(known), call) : { known: true }
      await runs.transact([applyAnswer(key, answer, family, rules)])
      for (const { record } of run.jobs.values()) {
        const { projectId } = record.facts.downstream ?? {}
        if (projectId !== undefined && projectId !== run.project.facts.id) options.onTriggered(projectId)
      }
      if (priority === 'silent' && isTerminal(run.pipeline?.record.facts.status ?? '')) {
        counters.missed += 1
        options.onMissed(run.project.facts.id)
      } else {
        counters.completed += 1
        if (priority === 'fresh') options.onEnded(run.project.facts.id)
      }
      failures = 0
      errors.answered(subject)
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      await fail(error, subject, asked, priority)
    }
  }

  async function fail(
    error: PlatformError,
    subject: string,
    asked: EnrichmentItem,
    priority: EnrichmentPriority,
  ): Promise<void> {
    if (error.kind === 'not-found') {
      counters.gone += 1
      warn('gone', 'a pipeline is gone from the platform: what is known of it is exported', { ...asked.key, subject })
      await runs.transact([giveUp(asked, priority, 'gone')])
      return
    }
    counters.failed += 1
    if (errors.failed(subject, error) === 'stop') {
      failures += 1
      restUntil = elapsed(clock) + backoff(failures, { first: 1_000, max: 60_000 })
    }
    await runs.transact([error.passing ? tryLater(asked, priority) : giveUp(asked, priority, 'refused')])
  }

  async function beginAll(): Promise<number> {
    let begun = 0
    for (const priority of enrichmentPriorities) begun += await begin(priority)
    return begun
  }

  async function begin(priority: EnrichmentPriority): Promise<number> {
    const free = places[priority] - [...inFlight.values()].filter(one => one.priority === priority).length
    if (free <= 0) return 0
    const taken = await queue.take(priority, free, leaseMs)
    for (const asked of taken) {
      const name = `${asked.key.instance}\n${asked.key.pipelineId}`
      if (inFlight.has(name)) continue
      const done = enrich(asked, priority)
        .catch((error: unknown) => {
          // Whatever it was, the run is leased again once this lease has run out.
          if (!closing.signal.aborted) log.error({ err: error, ...asked.key }, 'a run could not be completed')
        })
        .then(() => {
          inFlight.delete(name)
          options.onChange()
          loop.wake()
        })
      inFlight.set(name, { key: asked.key, priority: priority, done })
    }
    return taken.length
  }

  /** Extends deadlines by as long as the API budget was used up. */
  async function extendDeadlines(now: number): Promise<void> {
    const passed = Math.min(5_000, now - lastTurn)
    if (passed < turnMs / 2) return
    lastTurn = now
    const { due } = await queue.count('fresh')
    if (due === 0) return
    const { available, pausedFor } = await budget.snapshot()
    if (available < 1 || pausedFor > 0) await queue.postpone(passed, longestWait)
  }

  async function renew(now: number): Promise<void> {
    if (now - renewedAt < renewMs) return
    renewedAt = now
    await queue.extend(
      [...inFlight.values()].map(({ key }) => key),
      leaseMs,
    )
  }

  const loop = createLoop({
    name: 'enricher',
    clock,
    log,
    turn: async () => {
      const now = elapsed(clock)
      await extendDeadlines(now)
      await renew(now)
      if (restUntil > now) return Math.min(turnMs, restUntil - now)
      return (await beginAll()) > 0 ? 0 : turnMs
    },
  })
  return {
    ...loop,
    counters,
    drain: async () => {
      while ((await beginAll()) > 0 || inFlight.size > 0) {
        // All may be done by now, and a race of no promises never ends.
        if (inFlight.size > 0) await Promise.race([...inFlight.values()].map(({ done }) => done))
      }
    },
    stop: async () => {
      await loop.stop()
      closing.abort(new Error('the daemon stops'))
      const left = [...inFlight.values()]
      await Promise.all(left.map(({ done }) => done))
      await queue.extend(
        left.map(({ key }) => key),
        0,
      )
    },
  }
}

/** The snapshot of its first attempt is about to be taken: by then its trace must be known. */
function needsParent(run: Run): boolean {
  if (run.attempts.length > 0) return false
  return isAtEnd(run) || isBlocked(run.pipeline?.record.facts.status ?? '')
}

function firstSeenAt({ timing, firstSeenBy }: StoredRun): number {
  return Math.min(timing.changedAt, ...Object.values(firstSeenBy))
}
