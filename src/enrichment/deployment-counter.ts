// Counts each finished deployment once: compares it with those before it in its environment, asks which commits it brought, and writes its figures in
// the transaction that marks it as counted. Those of which nothing is asked are counted many together.
import { backoff } from '../lib/backoff.ts'
import {
  commitRange,
  figuresOf,
  isCounted,
  type DeployedCommits,
  type Neighbours,
} from '../model/deployment-figures.ts'
import { countedFigures, type FigureOutlets } from './counted-figures.ts'
import { createLeasedWork, createRests, leaseMs, type LeasedWork } from './leased-work.ts'
import { createLoop } from '../lib/loop.ts'
import { isOfTheData } from '../lib/fault.ts'
import { viewDeployment, type Deployment } from '../model/deployment.ts'
import type { Clock } from '../lib/clock.ts'
import type { CommitsReading } from './deployed-commits.ts'
import type { CountedDeployment, Decide, Decided, Deployments, DueDeployment } from '../store/ports/deployments.ts'
import type { ErrorThrottle } from '../platform/port.ts'
import type { Log } from '../lib/log.ts'

export interface DeploymentCounterOptions extends FigureOutlets {
  readonly deployments: Deployments
  /** Whom to ask for commits; undefined: the platform's API is not configured. */
  readonly platform: { readonly instance: string; readonly commits: CommitsReading } | undefined
  readonly errors: ErrorThrottle
  /** Called after something was put into the outbox. */
  readonly onCounted: () => void
  readonly clock: Clock
  readonly log: Log
}

/** Counted since start. */
export interface DeploymentCounters {
  counted: number
  /** Did not succeed or fail, or named no environment. */
  passedOver: number
  /** Counted without their commits: the platform refused, or did not answer. */
  withoutCommits: number
}

export interface DeploymentCounter extends LeasedWork {
  readonly counters: Readonly<DeploymentCounters>
  readonly requests: () => number
}

/** How many are counted in one transaction. On SQLite nothing else is done meanwhile. */
const together = 32
/** How many wait for their commits at the same time. */
const places = 4
/** Tries to get the commits; with growing pauses they take about five hours. */
const mostTries = 8
const pauses = { first: 60_000, max: 3_600_000 }
const idleMs = 1_000

export function createDeploymentCounter(options: DeploymentCounterOptions): DeploymentCounter {
  const { deployments, platform, errors, clock, log } = options
  const counters: DeploymentCounters = { counted: 0, passedOver: 0, withoutCommits: 0 }
  const rests = createRests(clock)
  const onError = (id: number, error: unknown): void =>
    log.error({ err: error, deployment: id }, 'a deployment could not be counted')

  /** Returns how many were due. */
  async function countDue(): Promise<number> {
    try {
      const decided = await deployments.countDue(together, decideWithoutCommits)
      count(decided)
      return decided.length
    } catch {
      return countOneByOne()
    }
  }

  /** After they failed together. One that fails is due again when its lease has expired. Throws if it is the store that fails. */
  async function countOneByOne(): Promise<number> {
    const due = await deployments.take('together', together, leaseMs)
    const failed: { readonly id: number; readonly error: unknown }[] = []
    for (const { id } of due) {
      try {
        const decided = await deployments.count(id, decideWithoutCommits)
        if (decided !== undefined) count([decided])
      } catch (error) {
        failed.push({ id, error })
      }
    }
    const isBlameless = failed.length === due.length && !failed.some(({ error }) => isOfTheData(error))
    if (failed.length > 1 && isBlameless) throw failed[0]?.error
    for (const { id, error } of failed) onError(id, error)
    return due.length
  }

  function count(decided: readonly Decided[]): void {
    const of = (as: Decided): number => decided.filter(one => one === as).length
    counters.counted += of('counted')
    counters.passedOver += of('nothing')
    if (of('counted') > 0) options.onCounted()
    if (of('apart') > 0) apart.wake()
  }

  const decideWithoutCommits: Decide = ({ id, deployment }, around) =>
    rangeOf(deployment, around) === undefined ? decide(id, deployment, around, undefined) : 'apart'

  /** The revisions between which the platform is asked for the commits; undefined: it is not asked. */
  function rangeOf(deployment: Deployment, around: Neighbours): ReturnType<typeof commitRange> {
    const view = platform?.instance === deployment.instance ? viewDeployment(deployment) : undefined
    return view && commitRange(view, around)
  }

  async function countApart(due: DueDeployment, signal: AbortSignal): Promise<void> {
    const before = await deployments.around(due.id)
    if (before === undefined) return
    const asked = await commitsOf(due, before, signal)
    if (asked === 'later') return
    const decided = await deployments.count(due.id, ({ id, deployment }, around) =>
      asked !== undefined && around.previous?.id !== before.previous?.id
        ? undefined
        : decide(id, deployment, around, asked),
    )
    // The deployment before it is another one now, so the commits are those of another range: start over.
    if (decided === undefined) return deployments.defer(due.id, 0, false)
    count([decided])
  }

  async function commitsOf(
    { id, deployment, tries }: DueDeployment,
    around: Neighbours,
    signal: AbortSignal,
  ): Promise<DeployedCommits | 'later' | undefined> {
    const range = rangeOf(deployment, around)
    if (platform === undefined || range === undefined) return undefined
    const { project } = deployment
    const answer = await platform.commits.read(project, range, signal)
    if (answer.as === 'read') {
      rests.answered()
      errors.answered(`project ${project.path ?? project.id}`)
      return answer.commits
    }
    if (answer.as === 'later') {
      if (errors.failed(`project ${project.path ?? project.id}`, answer.error) === 'stop') rests.begin()
      if (tries + 1 < mostTries) {
        await deployments.defer(id, backoff(tries + 1, pauses), true)
        return 'later'
      }
    }
    counters.withoutCommits += 1
    return undefined
  }

  function decide(
    id: number,
    deployment: Deployment,
    around: Neighbours,
    commits: DeployedCommits | undefined,
  ): CountedDeployment | 'nothing' {
    const view = viewDeployment(deployment)
    if (!isCounted(view)) return 'nothing'
    const figures = figuresOf(view, deployment.job?.span, around, commits)
    const event = { kind: 'deployment_figures', name: 'platform.deployment' }
    const named = { deployment: figures, at: figures.finishedAt, key: `figures of deployment ${id}` }
    return { figures, ...countedFigures(deployment, event, named, options) }
  }

  const apart = createLeasedWork<DueDeployment>({
    name: 'deployment counter with commits',
    queues: [{ places, take: async (limit, ms) => deployments.take('apart', limit, ms) }],
    nameOf: ({ id }) => String(id),
    work: countApart,
    onError: ({ id }, error) => onError(id, error),
    extend: async (due, ms) =>
      deployments.extend(
        due.map(({ id }) => id),
        ms,
      ),
    rests,
    clock,
    log,
  })
  const loop = createLoop({
    name: 'deployment counter',
    clock,
    log,
    turn: async () => ((await countDue()) < together ? idleMs : 0),
  })
  const both = [loop, apart]
  return {
    start: () => both.forEach(one => one.start()),
    wake: () => both.forEach(one => one.wake()),
    stop: async () => {
      await Promise.all(both.map(async one => one.stop()))
    },
    drain: async () => {
      while ((await countDue()) > 0);
      await apart.drain()
    },
    counters,
    requests: () => platform?.commits.counters.requests ?? 0,
  }
}
