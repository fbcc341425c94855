// Starts the parts of the daemon one by one, except the store and the webhook listener, and stops them in reverse order.
import { connectPlatforms, platformNames, leaseOf, type Connection } from './connections.ts'
import { startPlatformParts } from './platform-parts.ts'
import { summedIfAny } from '../lib/summed.ts'
import {
  exportDestinations,
  messageDestinations,
  startExporter,
  startMetricFlush,
  surroundingsOf,
  type ExportParts,
} from './export.ts'
import { holdForeignBacklogs } from '../core/send/held-backlog.ts'
import { countedBy } from './own-telemetry/table.ts'
import { observeParts } from './own-telemetry/observe-parts.ts'
import {
  mergeRulesOf,
  snapshotterOf,
  startSettling,
  startTakingIn,
  takingOf,
  type ProcessingContext,
} from './processing.ts'
import { startAdmin } from './admin.ts'
import { startSelfTelemetry } from './own-telemetry/own-telemetry.ts'
import type { Context } from './context.ts'
import type { Exporter } from '../core/send/exporter.ts'
import type { Store } from '../core/store/ports/store.ts'
import { createSelection } from '../core/take-in/selection.ts'
import { createSteps, startLoop, type Started } from './steps.ts'
import { noDurations, joinedNotifiers } from '../core/store/ports/reporter.ts'
import type { Feature, Line, PartContext, RuleContext, Running, TokenContext, ToRead } from './feature.ts'
import type { ConfigStatus } from '../console/sources/setup-shape.ts'
import type { Receiving } from './receiving.ts'
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import { createTextRedaction } from '../lib/text-redaction.ts'
import { createSingleton } from '../core/find/rounds.ts'
import { createThingReader, type ThingReader } from '../core/find/thing-reader.ts'
import { defaultPlatform } from './configuration/platforms.ts'
import { takeEvents } from '../core/take-in/events.ts'
import type { Thing } from '../platform/port/asking.ts'
import { createTotalsLoop, createMaintenance } from '../core/store/maintenance/maintenance.ts'
import type { Loop } from '../lib/loop.ts'

export interface PartsOptions extends Context {
  readonly features: readonly Feature[]
  readonly receiving: Receiving
  readonly configStatus?: (() => ConfigStatus) | undefined
  /** The port that the admin listener had before a reload. It is reused if the configuration does not set one. */
  readonly adminPort?: number | undefined
  /** Whether the daemon is stopping. If not, the parts stop because of a reload. */
  readonly isStopping: () => boolean
}

export interface Parts {
  readonly adminUrl: string
  /** The store, wrapped so that the daemon's own telemetry measures its operations. */
  readonly store: Store
  readonly exporter: Exporter
  /** Counts what the features' parts still have to read about exported pipelines. */
  toRead(): Promise<ToRead>
  /** Processes the received deliveries and sends pending exports for at most `flushMs`. Exports that are still pending stay in the store. */
  stop(flushMs: number): Promise<void>
}

/** Starts the parts. If anything they need is not available, it stops the parts already started and throws a Fault that says how to fix it. */
export async function startParts(options: PartsOptions): Promise<Parts> {
  const { config, features, receiving, events, clock, log, configStatus, adminPort, isStopping } = options
  const steps = createSteps(clock, log)
  try {
    const own = steps.addLast(await startSelfTelemetry(config, features, clock))
    const store = own.watch.store(options.store)
    const context: Context = { config, store, events, clock, log }

    const outlets = exportDestinations(config, features)
    const surroundings = surroundingsOf(config, features, outlets)
    const beforeRules: RuleContext = { ...surroundings, ...context }
    const notifiers = features.flatMap(one => one.notifier?.(config as never, beforeRules) ?? [])
    const notifier = joinedNotifiers(await Promise.all(notifiers))
    const selection = createSelection(config, platformNames(config))
    let tokens: readonly TokenContext[] = []
    let line: Line = { lineSteps: [], pastDurations: noDurations }
    const ofFeatures: PartContext = {
      ...{ ...beforeRules, notifier, measure: outlets.measure, queues: outlets.queues },
      takesTotals: outlets.takesTotals,
      taking: takingOf({ ...context, queues: outlets.queues, selection }),
      tokens: () => tokens,
      line: () => line,
      standing: () => features.flatMap(one => one.standing?.(config as never, ofFeatures) ?? []),
    }
    const running = new Map(features.map(one => [one, [] as Running[]]))
    const start = (one: Feature, part: Running | undefined, why: string): void => {
      steps.add(startLoop(part, why))
      if (part !== undefined) running.get(one)?.push(part)
    }
    const startOf = (isFirst: boolean): void => {
      for (const one of features)
        for (const { create, why, aroundSending } of one.parts ?? [])
          if (isFirst === (aroundSending === true)) start(one, create(config as never, ofFeatures), why)
    }
    startOf(true)
    const messages = messageDestinations(config, features, surroundings)
    const sending = { ...outlets, destinations: [...outlets.destinations, ...messages] }
    await holdForeignBacklogs({
      ...{ destinations: sending.destinations, outbox: store.outbox, log },
      endpoints: store.repositories.exportEndpoints,
    })
    const exporter = steps.add(startExporter(context, sending, own.watch.exports))
    const flush = steps.add(startMetricFlush(context, outlets, features, own.watch.exports))

    const connections = connectPlatforms(config, store, clock, log, own.watch)
    const enriches = connections.length > 0
    const given = {
      ...{ ...context, ...outlets, connections, notifier, selection },
    }
    tokens = connections.map(one => tokenContextOf(given, ofFeatures, one))
    line = {
      pastDurations: features.find(one => one.pastDurations)?.pastDurations?.(ofFeatures) ?? noDurations,
      lineSteps: features.flatMap(one => one.lineStep?.(config as never, ofFeatures) ?? []),
    }
    const processing: ProcessingContext = { ...given, ...line }
    const rules = mergeRulesOf(config, enriches, processing.lineSteps)
    const snapshotter = snapshotterOf(processing)
    const settleLoop = steps.add(startSettling(context, snapshotter, isStopping))
    const intake = steps.add(startTakingIn(processing, snapshotter, rules, receiving))
    // Webhooks are accepted from here on, so the remaining parts may start slowly.
    await receiving.open()
    const parts = enriches ? steps.add(startPlatformParts(processing, rules, intake)) : undefined
    for (const token of tokens) {
      for (const one of features) {
        const { part } = one.perToken ?? {}
        if (part !== undefined) start(one, part.create(token.config as never, token), part.why)
      }
    }
    const things = features.flatMap(one => one.things?.(config as never, ofFeatures) ?? [])
    for (const [index, connection] of (enriches ? connections : [undefined]).entries()) {
      const own = connection?.config
      const ofToken = own === undefined ? [] : features.flatMap(one => one.perToken?.things?.(own as never, own) ?? [])
      steps.add(startThings(processing, connection, index === 0 ? [...ofToken, ...things] : ofToken))
    }
    const ofMessages = messages.map(({ name }) => ({ destination: name, signal: 'notifications' as const }))
    steps.add(startMaintenance(context, [...outlets.queues, ...ofMessages]))
    steps.add(startTotals(context))
    startOf(false)

    const counted = {
      ingress: receiving,
      intake,
      snapshotter,
      settleLoop,
      exporter,
      flush,
      store,
      budgets: connections.map(({ name, budget }) => ({ platform: name, budget })),
      enricher: parts?.enricher,
      poller: summedIfAny(parts?.pollers.map(({ poller }) => poller) ?? []),
      redelivery: summedIfAny(parts?.redeliveries.map(({ redelivery }) => redelivery) ?? []),
      scrapes: { leftOut: 0 },
    }
    own.observe(async () =>
      observeParts({
        ...{ ...counted, reloads: configStatus?.().reloads },
        counted: new Map([...running].flatMap(([one, parts]) => countedBy(one, summedIfAny(parts.filter(counts))))),
      }),
    )
    const shown = {
      ...{ ...counted, ...outlets },
      ...{ platform: parts, connections, configStatus },
      clients: [...running.values()].flatMap(all => all.flatMap(({ client }) => client ?? [])),
    }
    const adminUrl = steps.add(await startAdmin(ofFeatures, features, shown, own, { isStopping, port: adminPort }))
    const toRead = async (): Promise<ToRead> => {
      const parts = [...running.values()].flat()
      const counts = await Promise.all(parts.flatMap(one => one.toRead?.() ?? []))
      const sumOf = (what: keyof ToRead): number => counts.reduce((sum, count) => sum + count[what], 0)
      return { due: sumOf('due'), later: sumOf('later') }
    }
    return { adminUrl, store, exporter, toRead, stop: async flushMs => steps.stop(flushMs) }
  } catch (error) {
    await steps.stop(0)
    throw error
  }
}

function counts(part: Running): part is Running & Required<Pick<Running, 'counters'>> {
  return part.counters !== undefined
}

/** Returns the context that features receive for their work with one platform token. */
function tokenContextOf(
  processing: Omit<ProcessingContext, keyof Line>,
  shared: PartContext,
  { name, config, client, territory, scope }: Connection,
): TokenContext {
  return {
    ...{ ...shared, config, client, territory, scope },
    errors: createErrorThrottle(processing.log, name),
    leaseOf: work => leaseOf(work, name),
  }
}

/**
 * Starts the reader that fetches the features' inventory items at regular intervals with one token. Without a token, the reader fetches only items
 * that do not come from a platform. Its part is undefined if there is nothing to fetch.
 */
function startThings(
  processing: ProcessingContext,
  connection: Connection | undefined,
  things: readonly Thing[],
): Started<ThingReader | undefined> {
  const { store, clock, log } = processing
  const { repositories, leases } = store
  const { name, config, client, scope } = connection ?? { name: defaultPlatform, config: processing.config }
  const why = 'the inventory is polled again after the next start'
  const instance = client?.instance ?? config.platform.url ?? things[0]?.of
  if (instance === undefined || things.length === 0) return startLoop(undefined, why)
  const taking = takingOf(processing)
  const part = createThingReader({
    ...{ things, instance, scope, client, repositories, clock, log },
    profile: config.platform.profile,
    lease: createSingleton(leaseOf('inventory', name), leases, clock),
    errors: createErrorThrottle(log, name),
    redactText: createTextRedaction(config.redact ?? []),
    onEvent: async ({ name: kind, severity = 'info', body, attributes }, owner, key) => {
      const about = { instance, kind, name: kind, severity, body, attributes }
      const whose = owner?.project === undefined ? { group: owner?.group?.path } : { project: owner.project }
      await takeEvents([{ ...about, ...whose, object: key, key, content: key }], taking)
    },
  })
  return startLoop(part, why)
}

/** Starts the store's maintenance. `queues` are the configured queues. Entries of other queues are dropped when their retention ends. */
function startMaintenance({ config, store, clock, log }: Context, queues: ExportParts['queues']): Started<Loop> {
  const { retention, remember } = config
  const loop = createMaintenance({
    ...{ store, served: queues, retention, remember, clock, log },
    keepFigures: config.trends.keep,
  })
  return startLoop(loop, 'pruning continues after the next start')
}

function startTotals({ store, clock, log }: Context): Started<Loop> {
  const loop = createTotalsLoop(store, clock, log)
  return startLoop(loop, 'what is not in the totals yet is stored')
}
