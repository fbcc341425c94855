// Finds pipelines without webhooks, in rounds that stay within a share of the API budget. The most urgent projects come first:
//
//   every round       pipelines that the token's user started; projects that the operator named; those with active pipelines; those with recent user
//                     activity, in the configured groups or, if none are configured, of which the token's user is a member
//   every few rounds  projects with a pipeline in the last two weeks: schedules and retries do not change the activity
//   once a day        every project in these lists, a few in each round (`poll-sweep.ts`)
//
// Groups share each round's requests (`fair-turns.ts`), and lists take turns, so that a busy group does not delay the others.
//
// Only one replica polls at a time: the one with the lease. Its state is in the store, so polling continues where it stopped after a restart.
import { createPollContext, type PollContext, type PollContextOptions } from './poll-context.ts'
import { createDue, rareInterval, projectListsOf, type DueProject } from './poll-due.ts'
import { createPollHints } from './poll-hints.ts'
import { createFairTurns, fairGroupOf } from './fair-turns.ts'
import { createRounds, type RoundsOptions, type Tried } from './rounds.ts'
import { createSweep } from './poll-sweep.ts'
import { lookAt } from './poll-project.ts'
import { readOwnPipelines, ownPipelines } from './poll-own-pipelines.ts'
import { createPollTurns, newEntry, openBook, type PollBook } from './poll-book.ts'
import { clientWithin, pollShare, type PollScope } from './poll-scope.ts'
import { isWithin, type Territory } from '../../model/territory.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { Loop } from '../../lib/loop.ts'

export interface PollerOptions
  extends
    Omit<PollScope, 'description'>,
    Omit<RoundsOptions, 'name'>,
    Pick<PollContextOptions, 'client' | 'runs' | 'rules' | 'selection'> {
  /** The territory to poll: only its projects are polled. By default all projects are polled. */
  readonly territory?: Territory | undefined
  /** The key of the poller's state in the store. Default: the instance. */
  readonly scope?: string | undefined
  /** The name of the poller's lease. Default: `poller`. */
  readonly lease?: string | undefined
  readonly repositories: Pick<Repositories, 'polledProjects' | 'ownPipelines' | 'sweeps'>
  /** The time between two polling rounds, ms. */
  readonly interval: number
  readonly lookback: number
  /** Whether active pipelines are fetched when they are found, and whether the first read of a project starts with them. Default: false. */
  readonly running?: boolean | undefined
  /** The whole API budget, in requests per minute. Other work uses it too. */
  readonly perMinute: number
  /** Called when new pipelines have been found that must be fetched. */
  readonly onFound: () => void
}

export interface PollerCounters {
  rounds: number
  /** The number of requests sent for lists of pipelines and projects. */
  requests: number
  /** The number of pipelines about which a list contained new facts. */
  discovered: number
}

export interface Poller extends Loop {
  readonly counters: Readonly<PollerCounters>
  /** Runs one round, even if another replica has the lease. */
  round(): Promise<void>
  /**
   * Adds a project to the next round because a pipeline of another project triggered one of its pipelines, which the project's activity does not
   * show.
   */
  hint(projectId: number): void
  /** Records that a webhook reported a pipeline of this project. From then on the project is active. */
  remember(projectId: number): void
  /** Starts a round at once because webhooks were lost. The round reads the given project, or all active projects if it is undefined. */
  hurry(project: string | undefined): void
}

/** The share of a round's requests for urgent projects while other projects are waiting. */
const urgentShare = 0.9
/** The share of a round's requests for the lists of recently active projects. The next round continues with the lists that were not read. */
const listShare = 0.5
/**
 * The average share of all requests for the pipelines of the token's user. The list must be read to its end. If this takes a larger share of one
 * round, the list is left out of the following rounds.
 */
const ownShare = 0.25
/** The number of projects that are read concurrently. */
const concurrency = 4

export function createPoller(options: PollerOptions): Poller {
  const { repositories, log, territory } = options
  const client = territory === undefined ? options.client : clientWithin(options.client, territory)
  const scope = options.scope ?? client.instance
  const interval = Math.max(1_000, options.interval)
  const allowance = Math.max(10, Math.floor((options.perMinute * interval * pollShare) / 60_000))
  const rounds = createRounds({ ...options, name: options.lease ?? 'poller' })
  const context: PollContext = createPollContext({
    ...{ ...options, client, source: 'poller', signal: rounds.signal },
    rules: { ...options.rules, fetchActive: options.running },
  })
  const counters = { rounds: 0, discovered: 0 }
  const turns = createPollTurns(() => counters.rounds, interval)
  const hints = createPollHints()
  const fairGroup = fairGroupOf(options.groups)
  const beginFairQueue = createFairTurns<DueProject>(({ entry, facts }) =>
    fairGroup(facts?.path ?? entry.path ?? String(entry.project)),
  )
  let book: PollBook | undefined
  /** The number of rounds from one read of the own pipelines to the next. */
  let ownInterval = 1
  let mustEnd = false
  const isEnding = (): boolean => mustEnd || rounds.signal.aborted

  const lists = projectListsOf(client, options.groups, options.memberProjects)
  const sweeps = lists.map(list =>
    createSweep({
      list,
      scope,
      context,
      sweeps: repositories.sweeps,
      interval,
      lookback: options.lookback,
      isKnown: project => book?.get(project.id) !== undefined,
      look: async (project, since) => {
        await look({ entry: newEntry(project.id, since, project.path), facts: project })
        return !isEnding()
      },
    }),
  )

  /** Runs the requests about one subject. A failure is logged once. It ends the round if every request would fail. */
  async function trying(subject: string, work: () => Promise<unknown>): Promise<boolean> {
    const outcome = await tried(subject, work)
    mustEnd ||= outcome === 'refused'
    return outcome === 'answered'
  }

  /**
   * Runs the requests for a list of projects. A token without permission for the list may still have permission for projects, so a rejection does not
   * end the round.
   */
  async function tryingList(subject: string, work: () => Promise<void>): Promise<boolean> {
    return (await tried(subject, work)) !== 'refused'
  }

  async function tried(subject: string, work: () => Promise<unknown>): Promise<Tried> {
    const outcome = isEnding() || !(await rounds.isMine()) ? 'stop' : await rounds.try(subject, work)
    mustEnd ||= outcome === 'stop'
    return outcome
  }

  /** Reads one project, and returns the number of requests it took. */
  async function look({ entry, facts }: DueProject): Promise<number> {
    const { project } = entry
    const [own, requests] = counted(context)
    const wasHinted = typeof project === 'number' && hints.take(project)
    const done = await trying(`project ${entry.path ?? project}`, async () => {
      const read = await lookAt(entry, {
        context: own,
        put: async changed => book?.put(changed),
        underWay: options.running === true && book?.get(project) === undefined,
        children: entry.ranAt > 0 && turns.areChildrenDue(project, rareInterval),
        facts,
      })
      counters.discovered += read.found
      if (read.found > 0) options.onFound()
      turns.answered(project, read.children)
    })
    if (!done) {
      turns.failed(project)
      if (wasHinted) hints.add(project)
    }
    return requests()
  }

  /** Reads the pipelines of the token's user, unless the last read of them used up their share of this round, too. */
  async function lookAtOwn(): Promise<void> {
    if (!turns.isDue(ownPipelines, ownInterval)) return
    const whole = turns.areChildrenDue(ownPipelines, rareInterval)
    const start = context.requests()
    const outcome = await tried(ownPipelines, async () =>
      readOwnPipelines(context, repositories.ownPipelines, { scope, lookback: options.lookback, whole }),
    )
    ownInterval = Math.max(1, Math.ceil((context.requests() - start) / (allowance * ownShare)))
    if (outcome === 'answered') turns.answered(ownPipelines, whole)
    else if (!isEnding()) turns.failed(ownPipelines)
    options.onFound()
  }

  const due = createDue({
    ...options,
    isOwn: path => territory === undefined || isWithin(territory, client.instance, path),
    lists,
    context,
    turns,
    hints,
    trying,
    tryingList,
  })

  /**
   * Reads several projects concurrently until the round's share of requests is used up. Groups take turns, and in each group the project that was
   * read longest ago comes first.
   */
  async function lookAll(projects: readonly DueProject[], limit: number): Promise<void> {
    const roundOf = ({ entry }: DueProject): number => turns.lastRound(entry.project)
    const queue = beginFairQueue(projects.toSorted((a, b) => roundOf(a) - roundOf(b)))
    const worker = async (): Promise<void> => {
      while (!isEnding() && context.requests() < limit) {
        const next = queue.take()
        if (next === undefined) return
        queue.charge(next, await look(next))
      }
    }
    await Promise.all(Array.from({ length: concurrency }, worker))
  }

  async function round(): Promise<void> {
    mustEnd = false
    book ??= await openBook(repositories.polledProjects, scope)
    counters.rounds += 1
    const start = context.requests()
    if (options.ownPipelines) await lookAtOwn()
    await lookAll(await due.urgent(book, start + allowance * listShare), start + allowance * urgentShare)
    await lookAll(due.ranLately(book), start + allowance)
    for (const sweep of inTurn(sweeps, counters.rounds)) {
      if (isEnding()) break
      const left = Math.max(1, start + allowance - context.requests())
      await trying('the sweep', async () => sweep(left))
    }
    await due.forgetIdle(book)
    log.debug({ requests: context.requests() - start, round: counters.rounds }, 'a round of polling')
  }

  // While another replica polls, this replica caches no state. When it takes over, it reads the stored state again.
  const onOthers = (): void => {
    book = undefined
  }
  const loop = rounds.loop({ every: interval, retry: Math.min(interval, 10_000), onOthers }, round)
  return {
    ...loop,
    get counters() {
      return { ...counters, requests: context.requests() }
    },
    round,
    hint: projectId => hints.add(projectId),
    remember: projectId => {
      if (book?.get(projectId) === undefined) hints.remember(projectId)
    },
    hurry: project => {
      turns.forget(one => project === undefined || String(one) === project)
      loop.hurry()
    },
  }
}

/** Returns a copy of the polling context that also counts its own requests, and the function that returns this count. */
function counted(context: PollContext): [PollContext, () => number] {
  let requests = 0
  const onSend = (): void => {
    requests += 1
    context.call.onSend?.()
  }
  return [{ ...context, call: { ...context.call, onSend } }, () => requests]
}

/** Rotates the list, so that each round starts with another item. */
function inTurn<T>(all: readonly T[], round: number): T[] {
  const first = round % Math.max(1, all.length)
  return [...all.slice(first), ...all.slice(0, first)]
}
