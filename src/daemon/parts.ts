// Starts the parts of the daemon beside the store and the listener for webhooks, one by one, and stops them in the reverse order.
import { connectPlatforms, platformNames } from './connections.ts'
import { startPlatformParts } from './platform-parts.ts'
import { summedIfAny } from '../lib/summed.ts'
import { exportDestinations, messageDestinations, startExporter, startMetricFlush, surroundingsOf } from './export.ts'
import { holdForeignBacklogs } from '../core/send/held-backlog.ts'
import { countedBy } from './own-telemetry/counts.ts'
import { observeParts } from './own-telemetry/observe-parts.ts'
import { mergeRulesOf, snapshotterOf, startSettling, startTakingIn, takingOf } from './processing.ts'
import { startAdmin } from './admin.ts'
import { startMaintenance, startTotals } from './maintenance.ts'
import { startThings } from './things.ts'
import { startSelfTelemetry } from './self-telemetry.ts'
import type { Context } from './context.ts'
import type { Exporter } from '../core/send/exporter.ts'
import type { Store } from '../core/store/ports/store.ts'
import { tokenContextOf } from './token-context.ts'
import { createSelection } from '../core/take-in/selection.ts'
import { createSteps, startLoop } from './steps.ts'
import { noDurations, joinedNotifiers } from '../core/store/ports/reporter.ts'
import type { Feature, Line, PartContext, RuleContext, Running, TokenContext } from './feature.ts'
import type { ConfigStatus } from '../console/sources/setup-shape.ts'
import type { Receiving } from './receiving.ts'
import type { Wiring } from './wiring.ts'

export interface PartsOptions extends Context {
  readonly features: readonly Feature[]
  readonly receiving: Receiving
  readonly configStatus?: (() => ConfigStatus) | undefined
  /** Where the admin listener of the parts before them listens; it is used again if the configuration leaves it open. */
  readonly adminPort?: number | undefined
  /** Whether the daemon ends. */
  readonly isStopping: () => boolean
}

export interface Parts {
  readonly adminUrl: string
  /** Watched by the parts' own telemetry. */
  readonly store: Store
  readonly exporter: Exporter
  /** Takes in what was received. Sends what is due within `flushMs`; what is not sent waits in the store. */
  stop(flushMs: number): Promise<void>
}

/** Throws a Fault with a remedy if anything that they need is not available; parts that were started by then are stopped. */
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
      taking: takingOf({ ...context, queues: outlets.queues, selection }),
      tokens: () => tokens,
      line: () => line,
      standing: () => features.flatMap(one => one.standing?.(config as never, ofFeatures) ?? []),
    }
    /** What was started of each feature. */
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
    const wiring: Wiring = { ...given, ...line }
    const rules = mergeRulesOf(config, enriches, wiring.lineSteps)
    const snapshotter = snapshotterOf(wiring)
    const settleLoop = steps.add(startSettling(context, snapshotter, isStopping))
    const intake = steps.add(startTakingIn(wiring, snapshotter, rules, receiving))
    // The rest may take its time: webhooks are taken in from now on.
    await receiving.open()
    const parts = enriches ? steps.add(startPlatformParts(wiring, rules, intake)) : undefined
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
      steps.add(startThings(wiring, connection, index === 0 ? [...ofToken, ...things] : ofToken))
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
    return { adminUrl, store, exporter, stop: async flushMs => steps.stop(flushMs) }
  } catch (error) {
    await steps.stop(0)
    throw error
  }
}

function counts(part: Running): part is Running & Required<Pick<Running, 'counters'>> {
  return part.counters !== undefined
}
