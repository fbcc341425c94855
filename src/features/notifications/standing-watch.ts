// Looks at conditions that last until somebody acts: dead letters, and those of features. One replica does it, by a lease.
import { createLoop, type Loop } from '../../lib/loop.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import { conditionReporter } from '../../core/store/sql/conditions.ts'
import { reportsBy } from '../../core/store/ports/reporter.ts'
import { ofDeadLetters } from './conditions.ts'
import { subjectDigest, type Condition } from '../../model/condition.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import type { Notifier } from './notifier.ts'
import type { Outbox } from '../../core/store/ports/outbox.ts'
import { conditionLife, type Repositories } from '../../core/store/ports/repository.ts'
import type { Runs } from '../../core/store/ports/runs.ts'

export interface StandingWatchOptions {
  readonly notifier: Notifier
  readonly runs: Pick<Runs, 'transact'>
  readonly outbox: Pick<Outbox, 'queues'>
  readonly conditions: Pick<Repositories['conditions'], 'get' | 'prune' | 'now'>
  /** Names of all destinations. */
  readonly destinations: readonly string[]
  /** Conditions of features. `now`: the store's clock. */
  readonly standing?: readonly ((now: Millis) => Promise<readonly Condition[]>)[] | undefined
  readonly lease: { readonly isMine: () => Promise<boolean>; readonly release: () => Promise<void> }
  /** Called after a message was put into the outbox. */
  readonly onMessage: () => void
  readonly clock: Clock
  readonly log: Log
}

/** ms. */
const pause = 5_000
const pruneEvery = 24 * 3_600_000

export interface StandingWatch extends Loop {
  /** Looks at everything, whoever has the lease. */
  look(): Promise<void>
}

export function createStandingWatch(options: StandingWatchOptions): StandingWatch {
  const { notifier, runs, outbox, conditions, standing = [], lease, onMessage, clock, log } = options
  const destinations = new Set(options.destinations)
  let prunedAt = -Infinity

  /** Reports a change only: what is known is read first, as most looks find nothing new. `except`: a rule that gets no message about it. */
  async function report(condition: Condition, except?: string): Promise<void> {
    const [routed] = notifier.route(condition)
    if (routed === undefined) return
    const known = await conditions.get({ subject: subjectDigest(condition) })
    if ((known?.state ?? 'fixed') === condition.state) return
    const to = routed.to.filter(name => name !== except)
    await runs.transact([], { reports: reportsBy(conditionReporter, [{ ...routed, to }]) })
    onMessage()
  }

  async function lookAtDeadLetters(): Promise<void> {
    const dead = new Map<string, number>()
    for (const queue of await outbox.queues()) {
      destinations.add(queue.destination)
      dead.set(queue.destination, (dead.get(queue.destination) ?? 0) + queue.dead)
    }
    const now = await conditions.now()
    // A rule gets no message that its own receiver refuses messages.
    for (const name of destinations) await report(ofDeadLetters(name, dead.get(name) ?? 0, now), name)
  }

  async function look(): Promise<void> {
    await lookAtDeadLetters()
    for (const others of standing) for (const one of await others(await conditions.now())) await report(one)
  }

  const loop = createLoop({
    name: 'notifications',
    clock,
    log,
    turn: async () => {
      if (!(await lease.isMine())) return pause
      await look()
      if (elapsed(clock) - prunedAt > pruneEvery) {
        await conditions.prune(({ changedAt }, now) => now - changedAt > conditionLife)
        prunedAt = elapsed(clock)
      }
      return pause
    },
  })
  return {
    ...loop,
    look,
    stop: async () => {
      await loop.stop()
      await lease.release()
    },
  }
}
