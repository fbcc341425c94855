// Starts the parts that use the platforms: enrichment for all platforms, and polling and redelivery for each token.
import { createEnricher, type Enricher } from '../core/complete/enricher.ts'
import type { PlatformError } from '../platform/port.ts'
import { createPoller, type Poller, type PollerOptions } from '../core/find/poller.ts'
import { pollMessage, pollScopeOf, type PollScope } from '../core/find/poll-scope.ts'
import { createDeliveryHeaders } from '../platform/webhook/delivery-headers.ts'
import { selectEvents } from '../platform/webhook/event-selection.ts'
import { createRedelivery, type Redelivery, type RedeliveryOptions } from '../core/find/redelivery.ts'
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import { profiles } from './profile.ts'
import { ruleInputsOf, type Platform } from './platform.ts'
import type { MergeRules } from '../core/take-in/merge-observations.ts'
import type { Context } from './context.ts'
import type { Started } from './steps.ts'
import { leaseOf, ofConnection, type Connection } from './connections.ts'
import type { TakeIn } from '../core/take-in/take-in.ts'
import type { ProcessingContext } from './processing.ts'

export interface PlatformParts {
  readonly enricher: Enricher
  /** The pollers and webhook readers, each with the name of its connection. */
  readonly pollers: readonly { readonly name: string; readonly poller: Poller }[]
  readonly redeliveries: readonly { readonly name: string; readonly redelivery: Redelivery }[]
  /** Returns the current error of each token whose requests fail, with the name of its connection. */
  readonly errors: () => { readonly name: string; readonly error: PlatformError }[]
  /** Whether any platform has responded since the start. */
  readonly hasAnswered: Platform['hasAnswered']
}

/** Starts enrichment and, for each connection, the poller and redelivery if they are configured. */
export function startPlatformParts(
  processing: ProcessingContext,
  rules: MergeRules,
  takeIn: Pick<TakeIn, 'take'>,
): Started<PlatformParts> {
  const { config, store, events, connections, selection, pastDurations, clock, log } = processing
  const { runs, enrichment, repositories } = store
  const readers = connections.map(connection => {
    const { name, client } = connection
    const errors = createErrorThrottle(log, name)
    const shared = { client, runs, repositories, leases: store.leases, rules, selection, errors, clock, log }
    const poller = pollerOf(connection, shared, () => events.discovered.emit())
    const redelivery = redeliveryOf(connection, shared, processing, { poller, takeIn })
    return { ...connection, errors, poller, redelivery }
  })
  const enricher = createEnricher({
    ...{ runs, repositories, rules, selection, clock, log, queue: enrichment, pastDurations },
    ...{ traceparent: config.traceparent, activeDetails: config.poll.running, wants: ruleInputsOf(config) },
    tokens: readers.map(({ poller, ...reader }) => ({
      ...reader,
      onHint: projectId => poller?.hint(projectId),
      onEnded: projectId => poller?.remember(projectId),
    })),
    storeNow: async () => store.now(),
    onChange: () => events.enriched.emit(),
  })
  events.processed.on(() => enricher.wake())
  events.discovered.on(() => enricher.wake())
  const loops = [enricher, ...readers.flatMap(({ poller, redelivery }) => [poller, redelivery])]
  for (const loop of loops) loop?.start()
  return {
    part: {
      enricher,
      pollers: readers.flatMap(({ name, poller }) => (poller === undefined ? [] : [{ name, poller }])),
      redeliveries: readers.flatMap(({ name, redelivery }) => (redelivery === undefined ? [] : [{ name, redelivery }])),
      errors: () =>
        readers.flatMap(({ name, errors }) => {
          const error = errors.ofPlatform()
          return error === undefined ? [] : [{ name, error }]
        }),
      hasAnswered: () => connections.some(({ hasAnswered }) => hasAnswered()),
    },
    why: 'pending requests to the platform continue after the next start',
    stop: async () => {
      await Promise.all(loops.map(async loop => loop?.stop()))
      await Promise.all(connections.map(async ({ client }) => client.close()))
    },
  }
}

type Shared = Omit<PollerOptions, keyof PollScope | 'interval' | 'lookback' | 'perMinute' | 'onFound'>

function pollerOf(connection: Connection, shared: Shared, onFound: () => void): Poller | undefined {
  const { name, config, territory, scope } = connection
  const { interval, lookback, running } = config.poll
  const what = pollScopeOf(config.poll)
  shared.log.info(ofConnection(name), pollMessage(what, config.platform.budget))
  if (what.description === undefined) return undefined
  return createPoller({
    ...shared,
    ...what,
    ...{ interval, lookback, running, onFound, scope, territory },
    perMinute: config.platform.budget,
    lease: leaseOf('poller', name),
  })
}

function redeliveryOf(
  { name, config, client }: Connection,
  shared: Shared & Pick<RedeliveryOptions, 'repositories'>,
  { config: { platforms, events } }: Context,
  { poller, takeIn }: { readonly poller: Poller | undefined; readonly takeIn: Pick<TakeIn, 'take'> },
): Redelivery | undefined {
  const { publicUrl, platform, redelivery: redelivers } = config
  const { projects, groups } = pollScopeOf(config.poll)
  if (!(redelivers || config.watchHooks) || publicUrl === undefined || projects.length + groups.length === 0)
    return undefined
  return createRedelivery({
    ...{ ...shared, client, projects, groups, publicUrl, profile: platform.profile, redelivers },
    name: leaseOf('redelivery', name),
    reads: createDeliveryHeaders(profiles[platform.profile], selectEvents(events)),
    instance: platforms.length === 0 ? undefined : client.instance,
    take: async delivery => takeIn.take(delivery),
    onOversize: project => poller?.hurry(project),
  })
}
