// Counts each finished deployment once. It compares the deployment with earlier ones in its environment, and requests the commits that it brought to
// production. These requests have a lower priority than all API requests for pipelines. Deployments that need no request are counted together.
import { backoff } from '../../lib/backoff.ts'
import { commitRange, figuresOf, isCounted } from './model/deployment-figures.ts'
import type { DeployedCommits, DeploymentFigures, LeadTimeDefinition, Neighbours } from './model/deployment-figures.ts'
import { countedFigures, createCounter, type Counting } from './counter.ts'
import {
  createLeasedWork,
  createLanePause,
  singleLane,
  tokenLanes,
  type LeasedWork,
} from '../../core/complete/leased-work.ts'
import { PlatformError, type ErrorThrottle, type PlatformClient } from '../../platform/port.ts'
import { viewDeployment, type Deployment, type IsProduction } from './model/deployment.ts'
import type { Capabilities } from '../../core/complete/capability.ts'
import type { Decision } from './sql/counted.ts'
import type { Deployments, DueDeployment } from './sql/deployments.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import type { Reports } from '../../core/store/ports/runs.ts'
import type { Territory } from '../../model/territory.ts'

interface CommitsToken {
  readonly territory: Territory
  readonly readCommits: ReturnType<typeof createCommitsReading>
  readonly errors: ErrorThrottle
}

export interface DeploymentCounterOptions extends Counting {
  readonly deployments: Deployments
  /** The tokens with which commits are requested; empty if the platform's API is not configured. */
  readonly tokens: readonly CommitsToken[]
  readonly isProduction: IsProduction
  /** Returns the reports about a deployment for other features. `id` is the id of the deployment's row. */
  readonly reports?:
    ((id: number, deployment: Deployment, figures: DeploymentFigures) => readonly Reports[]) | undefined
}

export interface DeploymentCounter extends LeasedWork {
  /**
   * Counters since startup. `passedOver`: deployments that neither succeeded nor failed, or had no environment. `withoutCommits`: deployments that
   * were counted without their commits, because the platform rejected the request or did not respond. `commitRequests`: requests for commits.
   */
  readonly counters: Readonly<Record<'counted' | 'passedOver' | 'withoutCommits' | 'commitRequests', number>>
}

/** Maximum number of deployments whose commits are being requested concurrently. */
const concurrency = 4
/** Maximum number of attempts to get the commits. With exponential backoff they take one to two hours. */
const maxTries = 8
const backoffMs = { first: 60_000, max: 3_600_000 }

export function createDeploymentCounter(options: DeploymentCounterOptions): DeploymentCounter {
  const { deployments, tokens, isProduction, clock, log } = options
  const lanes = tokenLanes(tokens, ({ instance, project }: Deployment) => ({ instance, path: project.path }), clock)
  const counter = createCounter({
    ...{ name: 'deployment', store: deployments, onCounted: options.onCounted, clock, log },
    measures: ['counted', 'passedOver', 'withoutCommits', 'commitRequests'],
    onApart: () => apart.wake(),
    decide: ({ id, of }, around) => (rangeOf(of, around) === undefined ? decide(id, of, around, undefined) : 'apart'),
  })
  const { counters } = counter

  /** Returns the revisions between which the commits are requested; undefined if they are not requested. */
  function rangeOf(deployment: Deployment, around: Neighbours): ReturnType<typeof commitRange> {
    const view = lanes.of(deployment).token === undefined ? undefined : viewDeployment(deployment)
    return view && commitRange(view, around, isProduction)
  }

  async function countApart(due: DueDeployment, signal: AbortSignal): Promise<void> {
    const before = await deployments.around(due.id)
    if (before === undefined) return
    const asked = await commitsOf(due, before, signal)
    if (asked === 'later') return
    const decided = await deployments.count(due.id, ({ id, of }, around) =>
      asked !== undefined && around.previous?.id !== before.previous?.id ? 'skip' : decide(id, of, around, asked),
    )
    // Another deployment now precedes this one, so the commits are for the wrong range, and counting starts over.
    if (decided === undefined) await deployments.defer(due.id, 0, false)
    else counter.add([decided])
  }

  async function commitsOf(
    { id, deployment, tries }: DueDeployment,
    around: Neighbours,
    signal: AbortSignal,
  ): Promise<DeployedCommits | 'later' | undefined> {
    const range = rangeOf(deployment, around)
    const { token, pause } = lanes.of(deployment)
    if (token === undefined || range === undefined) return undefined
    if (pause.left() > 0) {
      await deployments.defer(id, pause.left(), false)
      return 'later'
    }
    const { project } = deployment
    const name = `project ${project.path ?? project.id}`
    const onSend = (): void => void (counters.commitRequests += 1)
    const answer = await token.readCommits(project, range, { signal, onSend })
    if (typeof answer === 'object' && !(answer instanceof PlatformError)) {
      pause.answered()
      token.errors.answered(name)
      return answer
    }
    if (answer instanceof PlatformError) {
      if (token.errors.failed(name, answer) === 'stop') pause.begin()
      if (tries + 1 < maxTries) {
        await deployments.defer(id, backoff(tries + 1, backoffMs), true)
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
  ): Decision<DeploymentFigures> {
    const view = viewDeployment(deployment)
    if (!isCounted(view)) return { counted: undefined, written: [], measures: ['passedOver'] }
    const figures = figuresOf(view, around, commits, isProduction)
    const event = { kind: 'deployment_figures', name: 'platform.deployment' }
    const job = deployment.job?.span
    const measured = { figures, at: figures.finishedAt, name: `figures of deployment ${id}`, ...(job && { job }) }
    const reports = options.reports?.(id, deployment, figures) ?? []
    const written = [{ ...countedFigures(deployment, event, measured, options), reports }]
    return { counted: figures, written, measures: ['counted'] }
  }

  const apart = createLeasedWork({
    name: 'deployment counter with commits',
    queues: [{ concurrency, take: async (limit: number, ms: number) => deployments.take(limit, ms) }],
    lanes: singleLane({ pause: createLanePause(clock) }),
    nameOf: ({ id }) => String(id),
    work: countApart,
    onError: ({ id }, error) => log.error({ err: error, deployment: id }, 'a deployment could not be counted'),
    extend: async (due, ms) =>
      deployments.extend(
        due.map(({ id }) => id),
        ms,
      ),
    clock,
    log,
  })
  const both = [counter, apart]
  return {
    start: () => both.forEach(one => one.start()),
    wake: () => both.forEach(one => one.wake()),
    stop: async () => {
      await Promise.all(both.map(async one => one.stop()))
    },
    drain: async () => {
      await counter.drain()
      await apart.drain()
    },
    counters,
  }
}

/** Maximum number of pages of commits that are read, with 100 commits each. */
const maxPages = 5

/**
 * Requests the commits that `to` has and `from` lacks. `refused`: the platform rejects the request or does not have the commits, so the deployment is
 * counted without them. Throws an error if the platform may respond later.
 */
export function createCommitsReading(
  client: Pick<PlatformClient, 'commits'>,
  capabilities: Capabilities,
  definition: LeadTimeDefinition,
) {
  return async (
    project: ProjectFacts,
    range: { readonly from: string; readonly to: string },
    call: { readonly signal: AbortSignal; readonly onSend: () => void },
  ): Promise<DeployedCommits | PlatformError | 'refused'> => {
    const asked = { what: 'commits', project: project.id, path: project.path } as const
    if (!(await capabilities.mayAsk(asked))) return 'refused'
    const times: number[] = []
    try {
      let pages = 0
      const query = { ...range, firstParent: definition === 'merge' }
      for await (const { items } of client.commits(project.id, query, { priority: 'inside', ...call })) {
        for (const { committedAt, authoredAt } of items) {
          const time = definition === 'authored' ? (authoredAt ?? committedAt) : committedAt
          if (time !== undefined) times.push(time)
        }
        pages += 1
        if (pages === maxPages) break
      }
      await capabilities.answered(asked)
      return { definition, times }
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      if (error.kind === 'forbidden' || error.kind === 'not-found') await capabilities.refused(asked, error)
      else if (error.passing || error.kind === 'unauthorized') return error
      return 'refused'
    }
  }
}
