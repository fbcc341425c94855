// Counts deployments in a store, with a simulated platform that lists the commits of a repository.
import { pino } from 'pino'
import {
  deployments as storedDeployments,
  deploymentReporter,
} from '../../../src/features/deployments/sql/deployments.ts'
import { countIn, countingOn, report } from './reported.ts'
import { createCapabilities } from '../../../src/core/complete/capability.ts'
import { createCommitsReading, createDeploymentCounter } from '../../../src/features/deployments/deployment-counter.ts'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { day, hour, instance, minute, t0 } from '../../flow/world.ts'
import { isProduction, observedEvent } from '../../../src/features/deployments/model/deployment.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { wholeInstance } from '../../../src/model/territory.ts'
import type { BareBench } from '../../core/store/benches.ts'
import type { Commit, PlatformClient, PlatformError } from '../../../src/platform/port.ts'
import type { Deployment, IsProduction } from '../../../src/features/deployments/model/deployment.ts'
import type { DeploymentCounter } from '../../../src/features/deployments/deployment-counter.ts'
import type { LeadTimeDefinition } from '../../../src/features/deployments/model/deployment-figures.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

export const project = { id: 3, name: 'shop', path: 'acme/shop' }

// The simulated repository: its main branch gets one commit an hour, which is authored a minute before it is committed.

export const sha = (revision: number): string => revision.toString(16).padStart(40, '0')
export const committedAt = (revision: number): number => t0 - 30 * day + revision * hour
export const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at + 1)

interface Asked {
  readonly ranges: string[]
  requests: number
  fail: PlatformError | undefined
  /** A promise that delays the platform's responses. */
  until: Promise<void> | undefined
}

function platformOf(asked: Asked): Pick<PlatformClient, 'commits'> {
  return {
    commits: async function* (_project, { from, to, firstParent }, { onSend }) {
      asked.ranges.push(`${from}..${to}`)
      const all = range(parseInt(from, 16), parseInt(to, 16)).filter(one => firstParent !== true || one % 2 === 0)
      for (let at = 0; at === 0 || at < all.length; at += 100) {
        onSend?.()
        asked.requests += 1
        await asked.until
        if (asked.fail !== undefined) throw asked.fail
        const items = all.slice(at, at + 100).map((one): Commit => ({
          committedAt: committedAt(one),
          authoredAt: committedAt(one) - minute,
        }))
        yield { items }
      }
    },
  }
}

interface CounterOptions {
  readonly definition?: LeadTimeDefinition
  /** Whether the platform's API is configured; true by default. */
  readonly hasPlatform?: boolean
  readonly deployments?: Parameters<typeof createDeploymentCounter>[0]['deployments']
  readonly decides?: IsProduction
}

export class DeploymentBench {
  readonly here: BareBench
  readonly store: Store
  readonly asked: Asked = { ranges: [], requests: 0, fail: undefined, until: undefined }
  /** The lines that the counters have logged. */
  readonly errors: unknown[] = []

  constructor(here: BareBench, store: Store) {
    this.here = here
    this.store = store
  }

  counter(options: CounterOptions = {}): DeploymentCounter {
    const { definition = 'commit', hasPlatform = true, decides = isProduction } = options
    const reading = createCommitsReading(
      platformOf(this.asked),
      createCapabilities(this.store.repositories.refusedEndpoints, instance),
      definition,
    )
    const token = { territory: wholeInstance(instance), readCommits: reading, errors: createErrorThrottle(silentLog()) }
    return createDeploymentCounter({
      ...countingOn({ now: () => this.here.now() }),
      deployments: options.deployments ?? this.store.on(storedDeployments),
      ...{ isProduction: decides, tokens: hasPlatform ? [token] : [] },
      log: pino({}, { write: line => this.errors.push(JSON.parse(line)) }),
    })
  }

  async report(...deployments: readonly Deployment[]): Promise<void> {
    await report(this.store, deploymentReporter, deployments, countIn)
  }

  /** Returns a metric's totals in an environment: the value, or a histogram's count and sum. */
  async total(metric: string, environment: string, more = '') {
    const { projects } = await this.store.totals.read(10)
    const series = projects
      .flatMap(one => one.series)
      .filter(
        one => one.metric === metric && one.attributes.includes(`"${environment}"`) && one.attributes.includes(more),
      )
    return series.map(({ amount }) =>
      amount.kind === 'histogram' ? { ...amount, count: amount.counts.reduce((a, b) => a + b, 0) } : amount,
    )
  }
}

/** Returns an event's report of a deployment. */
export function eventReport(
  id: number,
  status: string,
  at: number,
  more: { environment?: string | undefined; revision?: number } = {},
): Deployment {
  return {
    ...{ instance, project, deploymentId: id },
    event: observedEvent({
      status,
      at,
      environment: 'environment' in more ? more.environment : 'production',
      revision: sha(more.revision ?? id),
    }),
  }
}
