// A simulated platform with its REST API, and everything between it and the exports, on one clock that the test moves.
import { noDurations, type PastDurations, type LineStep } from '../../../src/core/store/ports/reporter.ts'
import { createEnricher, type Enricher } from '../../../src/core/complete/enricher.ts'
import { createPlatformClient, type RestClient } from '../../../src/platform/rest/client.ts'
import { createPollContext, type PollContext } from '../../../src/core/find/poll-context.ts'
import { createPoller, type Poller, type PollerOptions } from '../../../src/core/find/poller.ts'
import { everything, snapshotterWith, settlerOf, takeInOf } from '../../flow/world.ts'
import { createStoredBudget } from '../../../src/daemon/platform.ts'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { deliveryOf, headersOf, type Delivery } from '../../../src/simulator/platform/delivery.ts'
import { Lifecycle } from '../../../src/simulator/platform/lifecycle.ts'
import { openSqlite } from '../../support/stores.ts'
import { parseDelivery } from '../../../src/platform/webhook/parse-delivery.ts'
import { pino } from 'pino'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'
import { wholeInstance } from '../../../src/model/territory.ts'
import { Timeline } from '../../../src/simulator/platform/timeline.ts'
import { withoutVariables } from '../../../src/platform/webhook/parse-delivery.ts'
import { deliver, chunkOfRun } from '../../support/of-run.ts'
import type { WantedFacts } from '../../../src/platform/wanted-facts.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type { SimProject } from '../../../src/simulator/platform/world.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour
export const start = Date.UTC(2026, 5, 1, 12, 0, 0)

export interface WorldOptions {
  readonly pastDurations?: PastDurations | undefined
  readonly projects?: readonly SimProject[]
  /** Selects the webhooks that arrive. By default none do. */
  readonly hook?: (delivery: Delivery, at: number) => boolean
  /** True for the newest platforms, whose payloads name bridges and root pipelines. The default is false. */
  readonly newest?: boolean
  readonly poll?:
    | Partial<
        Pick<
          PollerOptions,
          'projects' | 'groups' | 'ownPipelines' | 'memberProjects' | 'interval' | 'lookback' | 'running'
        >
      >
    | undefined
  readonly perMinute?: number
  /** How far the platform's clock is ahead of the daemon's, ms. */
  readonly skew?: number
  readonly enrich?: boolean
  /** The steps that read details of jobs. By default there are none. */
  readonly steps?: readonly LineStep[]
  readonly traceparent?: boolean
  /** The facts that attribute rules use. */
  readonly wanted?: WantedFacts | undefined
  readonly me?: number
}

export interface PolledWorld extends AsyncDisposable {
  readonly api: RestApi
  readonly store: Store
  readonly lifecycle: Lifecycle
  readonly client: RestClient
  poller: Poller
  enricher: Enricher
  readonly logged: { readonly level: number; readonly msg: string }[]
  now(): number
  /** Moves the clock in steps. In each step, pipelines run, webhooks arrive, the poller runs its rounds, and runs settle. */
  pass(ms: number, step?: number): Promise<void>
  /** Replaces the daemon with a new one on the same store, as after a crash. */
  restart(): Promise<void>
  /** The chunks of all snapshots taken since the last call. */
  sent(): Promise<Chunk[]>
}

export async function openPolledWorld(options: WorldOptions = {}): Promise<PolledWorld> {
  const { perMinute = 300, skew = 0, newest = false, hook } = options
  let now = start
  const clock: Clock = {
    now: () => now,
    sleep: async ms => {
      now += ms
    },
  }
  const state = new PlatformState()
  const timeline = new Timeline(start + skew)
  const random = new Random(7)
  const api = await RestApi.start({
    state,
    now: () => now + skew,
    ...(options.projects && { projects: options.projects }),
    ...(options.me !== undefined && { me: options.me }),
  })
  const instance = api.url
  const waiting: Delivery[] = []
  const lifecycle = new Lifecycle(state, timeline, random, news => {
    const delivery = deliveryOf(news, { instance, newest }, random)
    if (hook?.(delivery, news.at) === true) waiting.push(delivery)
  })
  const logged: { level: number; msg: string }[] = []
  const log = pino(
    { level: 'info' },
    { write: (line: string) => void logged.push(JSON.parse(line) as { level: number; msg: string }) },
  )
  const store = openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 })
  const budget = createStoredBudget({
    budgets: store.repositories.budgets,
    rules: { perMinute },
    account: () => 'test',
    clock,
  })
  const client = createPlatformClient({
    url: instance,
    token: () => 'pat-1',
    tokenType: 'private',
    budget,
    concurrency: 4,
    userAgent: 'Pipespan/test',
    wanted: options.wanted,
    retry: { tries: 2, refusals: 5, first: 1_000, max: 30_000 },
    clock,
    log,
  })
  const rules = {
    settle: 5 * second,
    blockedAfter: hour,
    silentAfter: 2 * minute,
    staleAfter: 7 * day,
    enrichDeadline: options.enrich === false ? undefined : 2 * minute,
    steps: options.steps,
  }
  const snapshotter = snapshotterWith({
    rules: { ...rules, deadline: 2 * minute, chunkSize: 500 },
    family: { scheme: 'instance', profile: 'generic', bridgesWillCome: options.enrich !== false },
    ...(options.steps && { steps: options.steps }),
  })
  const settler = settlerOf(store, { snapshotter, clock, log })
  const takeIn = takeInOf(store, {
    rules,
    snapshotter,
    parse: delivery =>
      parseDelivery(delivery, { profile: profiles.generic, traceparent: false, wanted: options.wanted }),
    redact: body => withoutVariables(body),
    now: () => clock.now(),
    log,
  })
  const interval = options.poll?.interval ?? minute
  const polls = options.poll !== undefined
  const readers = (): { poller: Poller; enricher: Enricher } => {
    const shared = {
      client,
      runs: store.runs,
      repositories: store.repositories,
      leases: store.leases,
      rules,
      selection: everything,
      clock,
      log,
    }
    const errors = createErrorThrottle(log)
    const enricher = createEnricher({
      ...shared,
      tokens: [
        {
          ...{ client, budget, errors, territory: wholeInstance(instance), scope: instance },
          onHint: projectId => poller.hint(projectId),
          onEnded: projectId => poller.remember(projectId),
        },
      ],
      queue: store.enrichment,
      storeNow: async () => store.now(),
      wants: { labels: options.wanted !== undefined, variables: options.wanted !== undefined },
      traceparent: options.traceparent ?? false,
      pastDurations: options.pastDurations ?? noDurations,
      onChange: () => undefined,
    })
    const poller = createPoller({
      ...shared,
      projects: options.poll?.projects ?? [],
      groups: options.poll?.groups ?? [],
      ownPipelines: options.poll?.ownPipelines ?? false,
      memberProjects: options.poll?.memberProjects ?? false,
      interval,
      lookback: options.poll?.lookback ?? day,
      running: options.poll?.running,
      perMinute,
      errors,
      onFound: () => undefined,
    })
    return { poller, enricher }
  }
  let nextRound = start
  const drain = async (): Promise<void> => {
    timeline.runUntil(now + skew)
    const arrived = waiting.splice(0)
    const header = { headerPrefix: 'X-Service-', instance }
    await Promise.all(
      arrived.map(async delivery => {
        const headers = headersOf(delivery, header, now, random)
        const event = headers['X-Service-Event'] ?? ''
        return takeIn.take({ key: delivery.key, event, instance, source: 'webhook', body: Buffer.from(delivery.body) })
      }),
    )
    if (polls && now >= nextRound) {
      nextRound = now + interval
      await world.poller.round()
    }
    if (options.enrich !== false) await world.enricher.drain()
    await settler.drain()
  }
  const world: PolledWorld = {
    api,
    store,
    lifecycle,
    client,
    logged,
    ...readers(),
    now: () => now,
    pass: async (ms, step = 5 * second) => {
      const end = now + ms
      await drain()
      while (now < end) {
        now = Math.min(end, now + step)
        await drain()
      }
    },
    restart: async () => {
      await store.leases.release('poller', 'gone')
      await world.poller.stop()
      Object.assign(world, readers())
    },
    sent: async () => {
      const items = await deliver(store)
      return items.map(chunkOfRun).sort((a, b) => a.key.pipelineId - b.key.pipelineId || a.number - b.number)
    },
    [Symbol.asyncDispose]: async () => {
      await client.close()
      await api.close()
      await store.close()
    },
  }
  return world
}

/** Creates the part of a poller that all kinds of polling share, for a test that polls by itself. */
export function pollContextOf(world: PolledWorld): PollContext {
  return createPollContext({
    client: world.client,
    runs: world.store.runs,
    selection: everything,
    source: 'poller',
    clock: { now: () => world.now(), sleep: async () => undefined },
    rules: { blockedAfter: hour, staleAfter: 7 * day },
    signal: new AbortController().signal,
  })
}
