// Fetches the data that webhooks lack, for the runs that are due in the enrichment queue.
//
// 1. Runs that webhooks reported, or that have just ended, come first. Next are silent runs, because the webhook that reports their end may have been
//    lost. Runs that ended long ago come last.
// 2. A silent run is deferred until it has been silent for longer than its project's pipelines usually take (`silence.ts`).
// 3. The missing parts of the run are requested (`fetch-run.ts`). The parents are looked up shortly before the first snapshot, which determines the
//    trace.
// 4. One transaction merges the response into the run, and removes the run from the queue or makes it due again (`apply-answers.ts`).
// 5. No run waits longer than its deadline: then it is exported with what is known. While the API budget is exhausted, only the deadlines of silent
//    runs and of runs that ended long ago are extended.
import { fetchRun, type FetchOptions } from './fetch-run.ts'
import { createLeasedWork, type LeasedWork } from './leased-work.ts'
import { createCapabilities } from './capability.ts'
import { tokenLanes, type TokenLane } from './leased-work.ts'
import { createFindParents, type Found, type ParentsOptions } from './parents.ts'
import { createSilence } from '../settle/silence.ts'
import { applyAnswer, applyEnd, applyFailure, type Unanswered } from './apply-answers.ts'
import { observedRun, mergeRun, type Run } from '../../model/run.ts'
import { isAtEnd } from '../../model/attempt.ts'
import { isTriggered } from '../../model/family.ts'
import { isBlocked, isTerminal } from '../../model/status.ts'
import { PlatformError, type ErrorThrottle, type PlatformClient, type Priority } from '../../platform/port.ts'
import type { PastDurations } from '../store/ports/reporter.ts'
import type { Budget } from '../../platform/port/budget.ts'
import { sparseWarnings } from '../../lib/sparse-warnings.ts'
import type { EnrichmentItem, EnrichmentPriority } from '../store/ports/enrichment-queue.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Observation } from '../../model/observation.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { StoredRun } from '../store/ports/runs.ts'
import type { Territory } from '../../model/territory.ts'

/** An API token of a platform, and the runs that are fetched with it. */
export interface EnricherToken {
  readonly client: Pick<PlatformClient, 'instance' | 'about'>
  readonly territory: Territory
  readonly budget: Budget
  readonly errors: ErrorThrottle
  /** The key under which facts about this token are stored. */
  readonly scope: string
  /**
   * Called with the id of a project that should be polled soon: either a run of another project triggered one of its pipelines, or no webhook
   * reported the end of one of its runs, so other webhooks of the project may be lost too.
   */
  readonly onHint: (projectId: number) => void
  /** Called with the id of the project when the end of one of its runs was observed, so that the poller knows about it. */
  readonly onEnded: (projectId: number) => void
}

export interface EnricherOptions
  extends Omit<ParentsOptions, 'client'>, Pick<FetchOptions, 'traceparent' | 'activeDetails' | 'wants'> {
  readonly tokens: readonly EnricherToken[]
  readonly repositories: Pick<Repositories, 'refusedEndpoints'>
  readonly pastDurations: PastDurations
  /** Called after a run has changed, because the settle loop may have a run to settle. */
  readonly onChange: () => void
  readonly clock: Clock
  readonly log: Log
}

/** Counters of the enricher since the daemon started. */
export interface EnricherCounters {
  /** The number of runs for which the platform has responded, excluding those counted as `missed`. */
  completed: number
  /** The number of silent runs that turned out to have ended: the webhook that reported their end was lost. */
  missed: number
  /** The number of pipelines that were deleted from the platform. */
  gone: number
  /** The number of failed requests. Most of them are retried later. */
  failed: number
}

export interface Enricher extends LeasedWork {
  readonly counters: Readonly<EnricherCounters>
}

/** The number of runs fetched concurrently, per priority. */
const concurrency: Readonly<Record<EnrichmentPriority, number>> = { fresh: 8, silent: 2, backfill: 2 }
const enrichmentPriorities: readonly EnrichmentPriority[] = ['fresh', 'silent', 'backfill']
/** Requests for runs that have ended come first. Requests for silent runs have a lower priority. */
const requestPriorities: Readonly<Record<EnrichmentPriority, Priority>> = {
  fresh: 'enrich',
  silent: 'poll',
  backfill: 'backfill',
}
/** The maximum time in ms that an export waits for the API budget, counted from the time at which the end of the pipeline was observed. */
const maxWait = 15 * 60_000
/** The minimum and maximum time in ms by which deadlines are extended in one step. */
const extendEvery = { min: 500, max: 5_000 }
const sameUrl = "Set PIPESPAN_PLATFORM_URL to the platform's own external URL."
const groupToken = 'Give the platform a token without groups.'

interface Asked {
  readonly item: EnrichmentItem
  readonly priority: EnrichmentPriority
}

export function createEnricher(options: EnricherOptions): Enricher {
  const { runs, queue, rules, selection, storeNow, clock, log } = options
  const counters: EnricherCounters = { completed: 0, missed: 0, gone: 0, failed: 0 }
  const tokens = options.tokens.map(token => ({
    ...token,
    findParents: createFindParents({ client: token.client, runs, queue, rules, selection, storeNow }),
    capabilities: createCapabilities(options.repositories.refusedEndpoints, token.scope),
  }))
  type Lane = TokenLane<(typeof tokens)[number]>
  const lanes = tokenLanes(tokens, ({ item: { key, path } }: Asked) => ({ instance: key.instance, path }), clock)
  const silence = createSilence({ ...rules, pastDurations: options.pastDurations })
  const warn = sparseWarnings(log, () => elapsed(clock))
  let lastTurn = elapsed(clock)

  async function enrich({ item: asked, priority }: Asked, signal: AbortSignal): Promise<void> {
    const { key, detail, takenAt } = asked
    const known = await runs.get(key)
    if (known === undefined) return
    const lane = lanes.of({ item: asked, priority })
    const { token, pause } = lane
    if (token === undefined) {
      const isKnown = tokens.some(({ client }) => client.instance === key.instance)
      const what = isKnown
        ? `No token of ${key.instance} covers the groups of some projects, so their details are not fetched. ${groupToken}`
        : `Webhooks come from ${key.instance}, whose API is not configured, so pipeline details are not fetched. ${sameUrl}`
      warn(isKnown ? 'token' : 'instance', what)
      await runs.transact([applyFailure(asked, priority, 'foreign', rules)])
      return
    }
    const left = priority === 'silent' ? await silence.left(known, takenAt) : 0
    if (left > 0) {
      await queue.defer(key, left)
      return
    }
    const { errors, findParents } = token
    const subject = `project ${known.run.project.facts.path ?? known.run.project.facts.id}`
    const call = { priority: requestPriorities[priority], signal }
    const onEnd = async (end: Observation): Promise<void> => {
      await runs.transact([applyEnd(end, rules)])
    }
    try {
      const fetched = await fetchRun(known.run, detail, call, { ...options, ...token, onEnd })
      const { observation } = fetched
      let { missing } = fetched
      const run = observation === undefined ? known.run : mergeRun(known.run, observedRun(observation))
      let family: Found = { known: !needsParent(run) }
      if (!family.known && !(missing instanceof PlatformError)) {
        try {
          family = await findParents(run, firstSeenAt(known), call)
        } catch (error) {
          if (!(error instanceof PlatformError)) throw error
          missing = error
        }
      }
      await runs.transact([applyAnswer(key, { observation, family, missing }, priority, rules)])
      if (missing instanceof PlatformError) {
        failed(missing, subject, lane)
        return
      }
      for (const { record } of run.jobs.values()) {
        const { projectId } = record.facts.downstream ?? {}
        if (projectId !== undefined && projectId !== run.project.facts.id) token.onHint(projectId)
      }
      if (priority === 'silent' && isTerminal(run.pipeline?.record.facts.status ?? '')) {
        counters.missed += 1
        token.onHint(run.project.facts.id)
      } else {
        counters.completed += 1
        if (priority === 'fresh') token.onEnded(run.project.facts.id)
      }
      pause.answered()
      errors.answered(subject)
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      const why = whyOf(error, subject, known.run, lane)
      await runs.transact([applyFailure(asked, priority, why, rules)])
    }
  }

  function whyOf(error: PlatformError, subject: string, { key, listed }: Run, lane: Lane): Unanswered {
    if (error.kind === 'not-found' && listed === undefined) {
      counters.gone += 1
      warn('gone', 'a pipeline was deleted from the platform; it is exported with the data received so far', {
        ...key,
        subject,
      })
      return 'gone'
    }
    const scope = failed(error, subject, lane)
    if (listed !== undefined && !error.passing) {
      const what =
        'the platform lists a pipeline but does not return it; it is requested again, and exported at its deadline at the latest'
      warn('listed', what, { ...key, subject, status: error.status })
    }
    if (error.passing) return scope === 'stop' || lane.token?.errors.ofPlatform() !== undefined ? 'away' : 'failed'
    return scope === 'stop' ? 'stopped' : 'refused'
  }

  function failed(error: PlatformError, subject: string, { token, pause }: Lane): 'go-on' | 'stop' {
    counters.failed += 1
    const scope = token?.errors.failed(subject, error) ?? 'go-on'
    if (scope === 'stop') pause.begin()
    return scope
  }

  /**
   * Extends the deadlines of silent runs, and of runs that ended long ago, by the time during which the API budget was exhausted for their priority
   * class.
   */
  async function extendDeadlines(now: number): Promise<void> {
    const passed = Math.min(extendEvery.max, now - lastTurn)
    if (passed < extendEvery.min) return
    lastTurn = now
    for (const priority of ['silent', 'backfill'] as const) {
      const { due } = await queue.count(priority)
      for (const { budget, territory } of due > 0 ? tokens : []) {
        if (await budget.isShort(requestPriorities[priority]))
          await queue.postpone(priority, passed, maxWait, tokens.length > 1 ? territory : undefined)
      }
    }
  }

  const work = createLeasedWork<Asked, Lane>({
    name: 'enricher',
    lanes,
    queues: enrichmentPriorities.map(priority => ({
      concurrency: concurrency[priority],
      has: one => one.priority === priority,
      take: async (limit, leaseMs, closed) => {
        const items = await lanes.take(closed, async which => queue.take(priority, limit, leaseMs, which))
        return items.map(item => ({ item, priority }))
      },
    })),
    nameOf: ({ item: { key } }) => `${key.instance}\n${key.pipelineId}`,
    work: enrich,
    onError: ({ item: { key } }, error) =>
      log.error({ err: error, ...key }, 'the details of a pipeline could not be fetched'),
    onDone: options.onChange,
    extend: async (asked, leaseMs) =>
      queue.extend(
        asked.map(({ item }) => item.key),
        leaseMs,
      ),
    beforeTurn: extendDeadlines,
    clock,
    log,
  })
  return { ...work, counters }
}

/** True if the first snapshot of the run is about to be taken. The first snapshot fixes the trace, so it needs the parent. */
function needsParent(run: Run): boolean {
  if (run.attempts.length > 0 || !isTriggered(run)) return false
  return isAtEnd(run) || isBlocked(run.pipeline?.record.facts.status ?? '')
}

function firstSeenAt({ timing, firstSeenBy }: StoredRun): number {
  return Math.min(timing.changedAt, ...Object.values(firstSeenBy))
}
