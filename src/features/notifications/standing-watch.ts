// Watches conditions that last until somebody acts: dead letters, and conditions of features. Only the replica with the lease watches them.
import { createLoop, type Loop } from '../../lib/loop.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import { ofDeadLetters } from './conditions.ts'
import { conditionRetention, type StoredCondition } from './documents.ts'
import { subjectDigest } from './incident.ts'
import type { Condition } from '../../model/condition.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import type { Notifier } from '../../core/store/ports/reporter.ts'
import type { Outbox } from '../../core/store/ports/outbox.ts'
import type { Repository } from '../../core/store/ports/repository.ts'
import type { Runs } from '../../core/store/ports/runs.ts'

export interface StandingWatchOptions {
  readonly notifier: Notifier
  readonly runs: Pick<Runs, 'transact'>
  readonly outbox: Pick<Outbox, 'queues'>
  readonly conditions: Pick<Repository<StoredCondition, 'subject'>, 'get' | 'prune' | 'now'>
  /** The names of all destinations. */
  readonly destinations: readonly string[]
  /** Functions that return the features' current conditions. `now` is the time by the store's clock. */
  readonly standing?: readonly ((now: Millis) => Promise<readonly Condition[]>)[] | undefined
  readonly lease: { readonly isMine: () => Promise<boolean>; readonly release: () => Promise<void> }
  /** Called after a message was put into the outbox. */
  readonly onMessage: () => void
  readonly clock: Clock
  readonly log: Log
}

/** The pause between two checks of the conditions, ms. */
const pause = 5_000
const pruneInterval = 24 * 3_600_000

export interface StandingWatch extends Loop {
  /** Checks all conditions, even without the lease. */
  checkAll(): Promise<void>
}

export function createStandingWatch(options: StandingWatchOptions): StandingWatch {
  const { notifier, runs, outbox, conditions, standing = [], lease, onMessage, clock, log } = options
  const destinations = new Set(options.destinations)
  let prunedAt = -Infinity

  /** Reports a condition only if its state has changed. The known state is read first, because most checks find no change. */
  async function report(condition: Condition): Promise<void> {
    const reports = notifier.reports(condition)
    if (reports.length === 0) return
    const known = await conditions.get({ subject: subjectDigest(condition) })
    if ((known?.state ?? 'fixed') === condition.state) return
    await runs.transact([], { reports })
    onMessage()
  }

  async function checkDeadLetters(): Promise<void> {
    const dead = new Map<string, number>()
    for (const queue of await outbox.queues()) {
      destinations.add(queue.destination)
      dead.set(queue.destination, (dead.get(queue.destination) ?? 0) + queue.dead)
    }
    const now = await conditions.now()
    for (const name of destinations) await report(ofDeadLetters(name, dead.get(name) ?? 0, now))
  }

  async function checkAll(): Promise<void> {
    await checkDeadLetters()
    for (const others of standing) for (const one of await others(await conditions.now())) await report(one)
  }

  const loop = createLoop({
    name: 'notifications',
    clock,
    log,
    turn: async () => {
      if (!(await lease.isMine())) return pause
      await checkAll()
      if (elapsed(clock) - prunedAt > pruneInterval) {
        await conditions.prune(({ changedAt }, now) => now - changedAt > conditionRetention)
        prunedAt = elapsed(clock)
      }
      return pause
    },
  })
  return {
    ...loop,
    checkAll,
    stop: async () => {
      await loop.stop()
      await lease.release()
    },
  }
}
