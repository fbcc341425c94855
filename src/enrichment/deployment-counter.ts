// Counts each finished deployment once: compares it with those before it in its environment, asks which commits it brought, and writes its figures in
// the transaction that marks it as counted.
import { backoff } from '../lib/backoff.ts'
import {
  commitRange,
  figuresOf,
  isCounted,
  type DeployedCommits,
  type Neighbours,
} from '../model/deployment-figures.ts'
import { countedFigures, type FigureOutlets } from './counted-figures.ts'
import { createLeasedWork, createRests, type LeasedWork } from './leased-work.ts'
import { viewDeployment, type Deployment } from '../model/deployment.ts'
import type { Clock } from '../lib/clock.ts'
import type { CommitsReading } from './deployed-commits.ts'
import type { CountedDeployment, Deployments, DueDeployment } from '../store/ports/deployments.ts'
import type { ErrorThrottle } from '../platform/rest/error-throttle.ts'
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

const places = 4
/** Tries to get the commits; with growing pauses they take about five hours. */
const mostTries = 8
const pauses = { first: 60_000, max: 3_600_000 }

export function createDeploymentCounter(options: DeploymentCounterOptions): DeploymentCounter {
  const { deployments, platform, errors, clock, log } = options
  const counters: DeploymentCounters = { counted: 0, passedOver: 0, withoutCommits: 0 }
  const rests = createRests(clock)

  async function countOne(due: DueDeployment, signal: AbortSignal): Promise<void> {
    const around = await deployments.around(due.id)
    if (around === undefined) return
    const asked = await commitsOf(due, around, signal)
    if (asked === 'later') return
    const did = { counted: false }
    const done = await deployments.count(due.id, (deployment, now) => {
      const counted = decide(due.id, deployment, now, around, asked)
      did.counted = counted !== 'nothing'
      return counted
    })
    // The deployment before it is another one now, so the commits are those of another range: start over.
    if (!done) return deployments.defer(due.id, 0, false)
    counters[did.counted ? 'counted' : 'passedOver'] += 1
    if (did.counted) options.onCounted()
  }

  async function commitsOf(
    { id, deployment, tries }: DueDeployment,
    around: Neighbours,
    signal: AbortSignal,
  ): Promise<DeployedCommits | 'later' | undefined> {
    const view = viewDeployment(deployment)
    const range = view && commitRange(view, around)
    if (range === undefined || platform?.instance !== deployment.instance) return undefined
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
    before: Neighbours,
    commits: DeployedCommits | undefined,
  ): CountedDeployment | 'nothing' | undefined {
    const view = viewDeployment(deployment)
    if (!isCounted(view)) return 'nothing'
    if (commits !== undefined && around.previous?.id !== before.previous?.id) return undefined
    const figures = figuresOf(view, deployment.job?.span, around, commits)
    const event = { kind: 'deployment_figures', name: 'platform.deployment' }
    const named = { deployment: figures, at: figures.finishedAt, key: `figures of deployment ${id}` }
    return { figures, ...countedFigures(deployment, event, named, options) }
  }

  const work = createLeasedWork<DueDeployment>({
    name: 'deployment counter',
    queues: [{ places, take: async (limit, leaseMs) => deployments.take(limit, leaseMs) }],
    nameOf: ({ id }) => String(id),
    work: countOne,
    onError: ({ id }, error) => log.error({ err: error, deployment: id }, 'a deployment could not be counted'),
    extend: async (due, leaseMs) =>
      deployments.extend(
        due.map(({ id }) => id),
        leaseMs,
      ),
    rests,
    clock,
    log,
  })
  return { ...work, counters, requests: () => platform?.commits.counters.requests ?? 0 }
}
