// Leases deliveries from the inbox, decodes them, and merges their observations into the runs.
import { createLoop, type Loop } from '../lib/loop.ts'
import { createPostponed } from './postponed.ts'
import {
  bytesTogether,
  quarantine,
  processAll,
  type LeasedBatch,
  type IntakeCounters,
  type ProcessOptions,
  type Decoded,
} from './process-deliveries.ts'
import { maxDeaths } from '../store/ports/under-way.ts'
import type { Clock } from '../lib/clock.ts'
import type { InboxItem } from '../store/ports/inbox.ts'
import type { Parsed } from '../platform/port/webhook.ts'
import type { ProjectFacts } from '../model/observation.ts'
import type { Selection } from './selection.ts'

export type { IntakeCounters } from './process-deliveries.ts'

export interface IntakeOptions extends ProcessOptions {
  readonly selection: Selection
  /**
   * Never throws. A promise for a large body, which is parsed in turns of the event loop. 25 MiB, leased alone, take at most 0.8 s of processor time: far
   * less than the lease. If it expires nevertheless, it still counts unless another replica has taken over.
   */
  readonly parse: (delivery: InboxItem) => Parsed | Promise<Parsed>
  readonly clock: Clock
}

export interface Intake extends Loop {
  readonly counters: Readonly<IntakeCounters>
  /** Processes all that is in the inbox now. */
  drain(): Promise<void>
}

/**
 * The lease lasts many times longer than processing takes. A crash delays deliveries by at most this time. Its bytes are those of one
 * transaction: deliveries that are decoded earlier survive a collection of the young generation and are promoted.
 */
const batch = { deliveries: 256, holdMs: 15_000 }
/** Deliveries that other processes put back (`pipespan inbox retry`) are seen after this long, ms. */
const idle = 1_000

const remedy = 'Give the daemon more memory and run `pipespan inbox retry`, or report it with the stored delivery.'

export function createIntake(options: IntakeOptions): Intake {
  const { runsPerTransaction } = options
  const counters: IntakeCounters = {
    processed: 0,
    events: 0,
    unclaimedEvents: 0,
    ignored: 0,
    unparseable: 0,
    excluded: 0,
    droppedJobs: 0,
    unknownStatuses: 0,
    lost: 0,
  }
  const postponed = createPostponed<number>()
  const takeNext = async (): Promise<boolean> => {
    const until = performance.now() + batch.holdMs
    const lease = await options.inbox.lease(batch.deliveries, bytesTogether(runsPerTransaction), batch.holdMs)
    if (lease.items.length === 0) return false
    let all = false
    try {
      all = await digest({ ...options, lease, until, counters, postponed }, options)
    } finally {
      await options.inbox.readingEnded(lease, all)
    }
    return true
  }
  let retriedOthers = false
  const loop = createLoop({
    name: 'intake',
    clock: options.clock,
    log: options.log,
    turn: async () => {
      if (!retriedOthers) {
        // This version tries once to decode what another version could not.
        const back = await options.inbox.retryQuarantinedOfOtherVersions(options.version)
        if (back > 0)
          options.log.info({ deliveries: back }, 'retrying deliveries that another version could not decode')
        retriedOthers = true
      }
      return (await takeNext()) ? 0 : idle
    },
  })
  return {
    ...loop,
    counters,
    drain: async () => {
      while (await takeNext());
    },
  }
}

/** Processes a batch: deliveries that are not exported are erased, those that cannot be decoded are quarantined. True if none of the batch remains. */
async function digest(leased: LeasedBatch, { parse, selection }: IntakeOptions): Promise<boolean> {
  const { counters, inbox, lease, postponed } = leased
  const decoded: Decoded[] = []
  const runs = new Map<string, number>()
  const ignored: number[] = []
  const excluded: number[] = []
  let isResting = false
  const lostBefore = counters.lost
  for (const item of lease.items) {
    if (postponed.isWaiting(item.id)) {
      isResting = true
      continue
    }
    if ((item.deaths ?? 0) >= maxDeaths) {
      await quarantine(
        leased,
        item,
        `${maxDeaths} times in a row the daemon's process died while it read this delivery. ${remedy}`,
      )
      continue
    }
    const answer = parse(item)
    const parsed = answer instanceof Promise ? await answer : answer
    if (parsed.outcome === 'unparseable') {
      await quarantine(leased, item, parsed.reason)
    } else if (parsed.outcome === 'ignored') {
      ignored.push(item.id)
    } else if (!selection.project(projectOf(parsed)?.path, instanceOf(parsed))) {
      excluded.push(item.id)
    } else {
      const name = subjectOf(parsed)
      const run = runs.get(name) ?? runs.size
      runs.set(name, run)
      decoded.push({ item, dropped: 0, ...parsed, run })
    }
  }
  if (ignored.length > 0) counters.ignored += await inbox.erase(lease.token, ignored)
  if (excluded.length > 0) counters.excluded += await inbox.erase(lease.token, excluded)
  await processAll(leased, decoded)
  return !isResting && counters.lost === lostBefore
}

type Reported = Exclude<Parsed, { outcome: 'ignored' | 'unparseable' }>

function projectOf(reported: Reported): ProjectFacts | undefined {
  return reported.outcome === 'event' ? reported.event.project : reported.observation.project
}

function instanceOf(reported: Reported): string {
  return reported.outcome === 'event' ? reported.event.instance : reported.observation.key.instance
}

/** The run or object that it is about: deliveries of one subject are processed in their order. */
function subjectOf(reported: Reported): string {
  if (reported.outcome === 'event') return reported.event.object
  const { instance, pipelineId } = reported.observation.key
  return `${instance}\n${pipelineId}`
}
