// Finds pipelines without webhooks, in rounds that stay within a share of the API budget, the most urgent first:
//
//   every round       pipelines that the token's user started; projects the operator named; those with active pipelines; those with a user's
//                     recent activity, in the named groups or, without names, of which the token's user is a member
//   every few rounds  projects with a pipeline in the last two weeks: schedules and retries do not change the activity
//   once a day        every project of these lists, a few in each round (`poll-sweep.ts`)
//
// Groups share each round's requests (`fair-turns.ts`), and lists take turns, so that a busy group does not delay the others.
//
// One replica, which holds a lease, polls at a time. Its state is in the store, so a restart continues.
import { createPollContext, type PollContext, type PollContextOptions } from './poll-context.ts'
import { createDue, few, projectListsOf, createPollHints, type DueProject } from './poll-due.ts'
import { createFairTurns, fairGroupOf } from './fair-turns.ts'
import { createRounds, type RoundsOptions, type Tried } from './rounds.ts'
import { createSweep } from './poll-sweep.ts'
import { lookAt } from './poll-project.ts'
import { lookAtMine, ownPipelines } from './poll-own-pipelines.ts'
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
  /** Only projects there are polled; by default all. */
  readonly territory?: Territory | undefined
  /** The key of its state in the store; by default the instance. */
  readonly scope?: string | undefined
  /** The name of its lease; by default `poller`. */
  readonly lease?: string | undefined
  readonly repositories: Pick<Repositories, 'polledProjects' | 'ownPipelines' | 'sweeps'>
  /** The time between two rounds, ms. */
  readonly interval: number
  readonly lookback: number
  /** Whether pipelines that have not ended are fetched when they are found, and the first read of a project begins with them. Default: no. */
  readonly running?: boolean | undefined
  /** The whole API budget, which other work uses, too, requests a minute. */
  readonly perMinute: number
  /** Called when there are pipelines to fetch. */
  readonly onFound: () => void
}

export interface PollerCounters {
  rounds: number
  /** Requests for lists. */
  requests: number
  /** Pipelines that showed something new. */
  discovered: number
}

export interface Poller extends Loop {
  readonly counters: Readonly<PollerCounters>
  /** Runs one round, whoever has the lease. */
  round(): Promise<void>
  /** A pipeline of another project has triggered a pipeline in this project, whose activity does not show that. */
  hint(projectId: number): void
  /** A webhook reported a pipeline of this project, which is active from then on. */
  remember(projectId: number): void
  /** Something was missed: a round begins now that reads the project, or all active projects if it is undefined. */
  hurry(project: string | undefined): void
}

/** Share of a round for urgent projects while others wait. */
const urgentShare = 0.9
/** Share of a round for the lists of recently active projects. The next round continues with the lists that were left. */
const listShare = 0.5
const atOnce = 4

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
  /** Whether the current round must end. */
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

  /** Does the work of one request. A failure is logged once, and ends the round if every request would fail. */
  async function trying(subject: string, work: () => Promise<void>): Promise<boolean> {
    const outcome = await tried(subject, work)
    mustEnd ||= outcome === 'refused'
    return outcome === 'answered'
  }

  /** A token that may not read a list may read projects all the same, so its refusal does not end the round. */
  async function tryingList(subject: string, work: () => Promise<void>): Promise<boolean> {
    return (await tried(subject, work)) !== 'refused'
  }

  async function tried(subject: string, work: () => Promise<void>): Promise<Tried> {
    const outcome = isEnding() || !(await rounds.isMine()) ? 'stop' : await rounds.try(subject, work)
    mustEnd ||= outcome === 'stop'
    return outcome
  }

  /** Returns the number of requests. */
  async function look({ entry, facts }: DueProject): Promise<number> {
    const { project } = entry
    const [own, requests] = counted(context)
    const done = await trying(`project ${entry.path ?? project}`, async () => {
      const read = await lookAt(entry, {
        context: own,
        put: async changed => book?.put(changed),
        underWay: options.running === true && book?.get(project) === undefined,
        children: entry.ranAt > 0 && turns.areChildrenDue(project, few),
        facts,
      })
      counters.discovered += read.found
      if (read.found > 0) options.onFound()
      turns.answered(project, read.children)
    })
    if (!done) turns.failed(project)
    return requests()
  }

  async function lookAtOwn(): Promise<void> {
    const whole = counters.rounds % few === 0
    const outcome = await tried(ownPipelines, async () =>
      lookAtMine(context, repositories.ownPipelines, { scope, lookback: options.lookback, whole }),
    )
    if (outcome === 'answered') turns.answered(ownPipelines, false)
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

  /** A few projects at once, while the round's share lasts: groups take turns, and in a group the longest unread project is first. */
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
    await Promise.all(Array.from({ length: atOnce }, worker))
  }

  async function round(): Promise<void> {
    mustEnd = false
    book ??= await openBook(repositories.polledProjects, scope)
    counters.rounds += 1
    const start = context.requests()
    if (options.ownPipelines && turns.isDue(ownPipelines, 1)) await lookAtOwn()
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

  // Another replica polls, and what it stores is read again when this one takes over.
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

/** The context with its own count of requests. */
function counted(context: PollContext): [PollContext, () => number] {
  let requests = 0
  const onSend = (): void => {
    requests += 1
    context.call.onSend?.()
  }
  return [{ ...context, call: { ...context.call, onSend } }, () => requests]
}

/** The same list; each round begins with another item. */
function inTurn<T>(all: readonly T[], round: number): T[] {
  const first = round % Math.max(1, all.length)
  return [...all.slice(first), ...all.slice(0, first)]
}
