// Looks at conditions that last until somebody acts: dead letters, and ingest tokens that expire. One replica does it, by a lease.
import { createLoop, type Loop } from '../../lib/loop.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import { conditionReporter } from '../../core/store/sql/conditions.ts'
import { reportsBy } from '../../core/store/ports/reporter.ts'
import { ofDeadLetters, ofIngestToken } from './conditions.ts'
import { reasonOf } from '../../lib/fault.ts'
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
  /** Reads the ingest tokens; undefined: nothing is known of them. */
  readonly tokens?: (() => Promise<readonly WatchedToken[]>) | undefined
  readonly lease: { readonly isMine: () => Promise<boolean>; readonly release: () => Promise<void> }
  /** Called after a message was put into the outbox. */
  readonly onMessage: () => void
  readonly clock: Clock
  readonly log: Log
}

export interface WatchedToken {
  readonly id: string
  readonly name?: string | undefined
  readonly valid: boolean
  readonly expiresAt?: Millis | undefined
}

/** ms. */
const pause = 5_000
const tokensEvery = 600_000
const pruneEvery = 24 * 3_600_000

export interface StandingWatch extends Loop {
  /** Looks at everything, whoever has the lease. */
  look(): Promise<void>
}

export function createStandingWatch(options: StandingWatchOptions): StandingWatch {
  const { notifier, runs, outbox, conditions, tokens, lease, onMessage, clock, log } = options
  const destinations = new Set(options.destinations)
  /** By their ids, when they expire: one that is revoked may be missing in the list. */
  const expiries = new Map<string, WatchedToken>()
  let askedAt = -Infinity
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

  async function lookAtTokens(list: NonNullable<typeof tokens>): Promise<void> {
    if (elapsed(clock) - askedAt < tokensEvery) return
    askedAt = elapsed(clock)
    let listed: readonly WatchedToken[]
    try {
      listed = await list()
    } catch (error) {
      log.warn({ reason: reasonOf(error) }, 'the ingest tokens cannot be listed: whether one expires is not known')
      return
    }
    for (const token of listed) if (token.expiresAt !== undefined) expiries.set(token.id, token)
    const now = await conditions.now()
    for (const [id, { expiresAt = Infinity, ...token }] of expiries) {
      const isValid = listed.some(one => one.id === id && one.valid)
      if (isValid) await report(ofIngestToken(token, expiresAt, now))
      // One that has expired was not replaced.
      else if (now < expiresAt) await report(ofIngestToken(token, Infinity, now))
      if (!isValid) expiries.delete(id)
    }
  }

  async function look(): Promise<void> {
    await lookAtDeadLetters()
    if (tokens !== undefined) await lookAtTokens(tokens)
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
