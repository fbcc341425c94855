// Completes what webhooks leave out: asks the platform about runs that are due in the queue, the pipelines of the day before
// those of a backfill, and lets nothing wait longer than its deadline. A run under way that is silent for too long is asked about too
// (`silence.ts`): so lost ends are found. While the budget has nothing to give, deadlines stand
// still; while the platform does not answer, they run.
import { askAbout } from './fetch-run.ts'
import { backoff } from '../lib/backoff.ts'
import { createLoop, type Loop } from '../lib/loop.ts'
import { createParents } from './parents.ts'
import { createSilence } from '../processing/silence.ts'
import { givingUp, postponing, takingIn } from './apply-answers.ts'
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
import type { Troubles } from '../platform/rest/error-throttle.ts'

export interface EnricherOptions {
  readonly client: PlatformClient
  readonly budget: Budget
  readonly runs: Runs
  readonly asking: EnrichmentQueue
  /** How long pipelines take. */
  readonly trends: Pick<TrendViews, 'series'>
  readonly rules: MergeRules
  readonly selection: Selection
  /** The store's clock, by which runs were heard of. */
  readonly storeNow: () => Promise<Millis>
  readonly traceparent: boolean
  readonly troubles: Troubles
  /** Called with the projects whose pipelines a run has triggered. */
  readonly onTriggered: (projectId: number) => void
  /** Called with the projects of runs whose end was told: whoever polls should know them. */
  readonly onMet: (projectId: number) => void
  /** Called with the project of a run whose end nobody told: there may be more. */
  readonly onMissed: (projectId: number) => void
  /** Called after a run changed: the settler may have something to do. */
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
  /** Asked in vain; most of them are asked again later. */
  failed: number
}

export interface Enricher extends Loop {
  readonly counters: Readonly<EnricherCounters>
  /** Asks about all that is due now. */
  drain(): Promise<void>
}

/** Runs asked about at once, by lane. */
const places: Readonly<Record<EnrichmentPriority, number>> = { fresh: 8, silent: 2, backfill: 2 }
const lanes: readonly EnrichmentPriority[] = ['fresh', 'silent', 'backfill']
/** Whose end is known waits for nobody; whoever is only silent leaves the budget to those. */
const priorities: Readonly<Record<EnrichmentPriority, Priority>> = {
  fresh: 'enrich',
  silent: 'poll',
  backfill: 'backfill',
}
/** Longer than a request may take; renewed while it does. */
const holdMs = 90_000
const renewMs = 30_000
/** No export waits longer for the budget, counted from the pipeline's end as it was heard, ms. */
const longestWait = 15 * 60_000
const turnMs = 1_000
const sameUrl = 'Set PIPESPAN_PLATFORM_URL to the address that the platform gives itself.'

interface InHand {
  readonly key: EnrichmentItem['key']
  readonly lane: EnrichmentPriority
  readonly done: Promise<void>
}

export function createEnricher(options: EnricherOptions): Enricher {
  const { client, budget, runs, asking, rules, selection, storeNow, troubles, clock, log } = options
  const counters: EnricherCounters = { completed: 0, missed: 0, gone: 0, failed: 0 }
  const parents = createParents({ client, runs, asking, rules, selection, storeNow })
  const silence = createSilence({ ...rules, trends: options.trends, now: () => clock.now() })
  const warn = sparseWarnings(log, () => elapsed(clock))
  const inHand = new Map<string, InHand>()
  const closing = new AbortController()
  let failures = 0
  let restUntil = 0
  let lastTurn = elapsed(clock)
  let renewedAt = elapsed(clock)

  async function enrich(asked: EnrichmentItem, lane: EnrichmentPriority): Promise<void> {
    const { key, detail: wants, takenAt } = asked
    const known = await runs.get(key)
    if (known === undefined) return
    if (key.instance !== client.instance) {
      warn('instance', `Webhooks come from ${key.instance}, which is not asked for details. ${sameUrl}`)
      await runs.transact([givingUp(asked, lane, 'foreign')])
      return
    }
    const left = lane === 'silent' ? await silence.left(known, takenAt) : 0
    if (left > 0) {
      await asking.defer(key, left)
      return
    }
    const subject = `project ${known.run.project.facts.path ?? known.run.project.facts.id}`
    const call = { priority: priorities[lane], signal: closing.signal }
    try {
      const answer = await askAbout(known.run, wants, call, options)
      const run = answer === undefined ? known.run : mergeRun(known.run, observedRun(answer))
      const family = isOwed(run) ? await parents.find(run, heardAt(known), call) : { known: true }
      await runs.transact([takingIn(key, answer, family, rules)])
      for (const { record } of run.jobs.values()) {
        const { projectId } = record.facts.downstream ?? {}
        if (projectId !== undefined && projectId !== run.project.facts.id) options.onTriggered(projectId)
      }
      if (lane === 'silent' && isTerminal(run.pipeline?.record.facts.status ?? '')) {
        counters.missed += 1
        options.onMissed(run.project.facts.id)
      } else {
        counters.completed += 1
        if (lane === 'fresh') options.onMet(run.project.facts.id)
      }
      failures = 0
      troubles.answered(subject)
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      await fail(error, subject, asked, lane)
    }
  }

  async function fail(
    error: PlatformError,
    subject: string,
    asked: EnrichmentItem,
    lane: EnrichmentPriority,
  ): Promise<void> {
    if (error.kind === 'not-found') {
      counters.gone += 1
      warn('gone', 'a pipeline is gone from the platform: what is known of it is exported', { ...asked.key, subject })
      await runs.transact([givingUp(asked, lane, 'gone')])
      return
    }
    counters.failed += 1
    if (troubles.failed(subject, error) === 'stop') {
      failures += 1
      restUntil = elapsed(clock) + backoff(failures, { first: 1_000, max: 60_000 })
    }
    await runs.transact([error.passing ? postponing(asked, lane) : givingUp(asked, lane, 'refused')])
  }

  async function beginAll(): Promise<number> {
    let begun = 0
    for (const lane of lanes) begun += await begin(lane)
    return begun
  }

  async function begin(lane: EnrichmentPriority): Promise<number> {
    const free = places[lane] - [...inHand.values()].filter(one => one.lane === lane).length
    if (free <= 0) return 0
    const taken = await asking.take(lane, free, holdMs)
    for (const asked of taken) {
      const name = `${asked.key.instance}\n${asked.key.pipelineId}`
      if (inHand.has(name)) continue
      const done = enrich(asked, lane)
        .catch((error: unknown) => {
          // Whatever it was, it is taken again when its hold has run out.
          if (!closing.signal.aborted) log.error({ err: error, ...asked.key }, 'a run could not be completed')
        })
        .then(() => {
          inHand.delete(name)
          options.onChange()
          loop.wake()
        })
      inHand.set(name, { key: asked.key, lane, done })
    }
    return taken.length
  }

  /** Deadlines stand still for as long as the budget had nothing to give. */
  async function standStill(now: number): Promise<void> {
    const passed = Math.min(5_000, now - lastTurn)
    if (passed < turnMs / 2) return
    lastTurn = now
    const { due } = await asking.count('fresh')
    if (due === 0) return
    const { available, pausedFor } = await budget.snapshot()
    if (available < 1 || pausedFor > 0) await asking.postpone(passed, longestWait)
  }

  async function renew(now: number): Promise<void> {
    if (now - renewedAt < renewMs) return
    renewedAt = now
    await asking.hold(
      [...inHand.values()].map(({ key }) => key),
      holdMs,
    )
  }

  const loop = createLoop({
    name: 'enricher',
    clock,
    log,
    turn: async () => {
      const now = elapsed(clock)
      await standStill(now)
      await renew(now)
      if (restUntil > now) return Math.min(turnMs, restUntil - now)
      return (await beginAll()) > 0 ? 0 : turnMs
    },
  })
  return {
    ...loop,
    counters,
    drain: async () => {
      while ((await beginAll()) > 0 || inHand.size > 0) {
        // What was begun may be done by now: a race of nobody has no winner.
        if (inHand.size > 0) await Promise.race([...inHand.values()].map(({ done }) => done))
      }
    },
    stop: async () => {
      await loop.stop()
      closing.abort(new Error('the daemon stops'))
      const left = [...inHand.values()]
      await Promise.all(left.map(({ done }) => done))
      await asking.hold(
        left.map(({ key }) => key),
        0,
      )
    },
  }
}

/** Its first attempt is about to be frozen: the trace it belongs to must be known. */
function isOwed(run: Run): boolean {
  if (run.attempts.length > 0) return false
  return isAtEnd(run) || isBlocked(run.pipeline?.record.facts.status ?? '')
}

function heardAt({ timing, firstSeenBy }: StoredRun): number {
  return Math.min(timing.changedAt, ...Object.values(firstSeenBy))
}
