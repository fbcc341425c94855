// The composition root: builds the rooms in the order of the flow and hands each its slice of the configuration; stops them
// in the reverse order, with a reason per step.
import { createExporter, type Exporter } from '../export/exporter.ts'
import { connectionLimits, memoryLimit, openFilesLimit } from '../web/connection-limits.ts'
import { createHealth } from '../web/health.ts'
import { createIntake } from '../processing/intake.ts'
import { createMetricFlush } from '../export/metric-flush.ts'
import { createListener } from '../web/listener.ts'
import { createSnapshotter } from '../processing/take-snapshots.ts'
import { createSettleLoop } from '../processing/settle-loop.ts'
import { createTokenReport } from './tokens.ts'
import { proveRoom } from '../store/maintenance/writable.ts'
import { createClockWatch } from '../store/maintenance/clock-watch.ts'
import { createTrendLoop } from '../store/maintenance/trend-loop.ts'
import { createUpkeep } from '../store/maintenance/maintenance.ts'
import { connectPlatform, createAsking, selectionOf } from './platform.ts'
import { drainDeadline, openFront, stopAll, type Front } from './early-start.ts'
import { exportDestinations } from './export.ts'
import { lookAt, metricsPage, startOwnTelemetry } from './self-telemetry.ts'
import { normalizeInstance } from '../model/instance.ts'
import { pagesOf } from './pages.ts'
import { parseDelivery } from '../platform/webhook/parse-delivery.ts'
import { profiles, type ProfileName } from '../platform/profile.ts'
import { elapsed, systemClock, type Clock } from '../lib/clock.ts'
import { version } from '../lib/version.ts'
import { withoutVariables } from '../platform/webhook/without-variables.ts'
import type { AskingParts } from './platform.ts'
import type { Config } from '../config/options.ts'
import type { Log } from '../lib/log.ts'
import type { Store } from '../store/ports/store.ts'

export interface DaemonOptions {
  readonly config: Config<ProfileName>
  readonly log: Log
  readonly clock?: Clock | undefined
  /** Where it was opened before this code was loaded. */
  readonly front?: Front | undefined
}

export interface Daemon {
  /** Where webhooks are taken. */
  readonly url: string
  readonly adminUrl: string
  readonly store: Store
  readonly exporter: Exporter
  /** Secrets or certificates may have changed: they are used from the next request on. */
  refresh(): void
  /** Stops accepting, finishes intake, sends what is due within `flushMs`; what is not sent waits in the store. */
  stop(flushMs?: number): Promise<void>
}

/** How long a stop may spend on sending what is owed, ms. */
export const flushDeadline = 20_000
/** Jobs in one export: some 650 KB of OTLP, far below the limits of backends. */
const chunkSize = 500

/** Throws a Fault with a remedy when anything that it needs cannot be had; what was built by then is stopped again. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config, log, clock = systemClock } = options
  const front = options.front ?? (await openFront({ config, log }))
  const { door, steps } = front
  let stopping = false
  let flushUntil = 0
  let lastAccepted: number | undefined
  let publicUrl: string | undefined
  let takeIn = (): void => undefined
  const acceptNothingMore = { why: 'accept nothing more', stop: async () => door.stop(drainDeadline) }
  let asked: AskingParts | undefined
  const left = (): number => Math.max(0, flushUntil - elapsed(clock))
  try {
    const own = await startOwnTelemetry(config, () => clock.now())
    steps.unshift({ why: 'nothing more is measured', stop: async () => own.stop(drainDeadline) })
    const store = own.watch.store(front.store)
    front.hear({
      onAccepted: () => {
        lastAccepted = clock.now()
        takeIn()
      },
      onPut: (tookMs, failed) => own.watch.operation('inbox.put', tookMs, failed),
    })

    const { destinations, metricDestinations, lanes, encode, measure, settings } = exportDestinations(config)
    const report = createTokenReport({
      reports: store.repositories.daemonReports,
      tokens: () => destinations.flatMap(({ bearer }) => bearer?.current() ?? []),
      clock,
      log,
    })
    report.start()
    steps.push({ why: 'this daemon uses no ingest token any more', stop: async () => report.stop() })

    const meters = own.watch.exports
    const exporter = createExporter({ destinations, exports: store.outbox, encode, clock, log, meters })
    exporter.start()
    steps.push({
      why: 'all that could be frozen is owed: send what is due, leave the rest in the store',
      stop: async () => {
        await exporter.flush(left())
        await exporter.stop(Math.max(1_000, left()))
      },
    })

    const { totals, repositories, leases } = store
    const { recentRuns } = repositories
    const flush = createMetricFlush({
      destinations: metricDestinations,
      ...{ totals, recentRuns, leases, settings, clock, log, meters },
      profile: config.platform.profile,
      interval: config.metrics.interval,
    })
    flush.start()
    steps.push({ why: 'all that could be counted is in the totals: send them', stop: async () => flush.finish(left()) })

    const selection = selectionOf(config)
    const { settle, blockedAfter, silentAfter, staleAfter, enrichDeadline } = config
    const platform = connectPlatform(config, store, clock, log, budget => own.watch.budget(budget))
    const absorbRules = {
      ...{ settle, blockedAfter, silentAfter, staleAfter },
      enrichDeadline: platform === undefined ? undefined : enrichDeadline,
    }
    const freezer = createSnapshotter({
      rules: { settle, blockedAfter, staleAfter, deadline: enrichDeadline, chunkSize: chunkSize },
      family: { scheme: config.traceIds, profile: config.platform.profile, bridgesWillCome: platform !== undefined },
      selection,
      to: lanes,
      measure,
      onSnapshot: () => exporter.wake(),
    })
    const settler = createSettleLoop({
      runs: store.runs,
      perTransaction: store.runsPerTransaction,
      snapshotter: freezer,
      clock,
      log,
    })
    settler.start()
    steps.push({
      why: 'all news is in the runs: freeze what is due',
      stop: async () => {
        await settler.stop()
        await settler.drain()
      },
    })

    const profile = profiles[config.platform.profile]
    const parseOptions = {
      profile,
      platformUrl: config.platform.url === undefined ? undefined : normalizeInstance(config.platform.url),
      traceparent: config.traceparent,
    }
    const intake = createIntake({
      inbox: store.inbox,
      runs: store.runs,
      runsPerTransaction: store.runsPerTransaction,
      rules: absorbRules,
      snapshotter: freezer,
      selection,
      parse: delivery => parseDelivery(delivery, parseOptions),
      redact: withoutVariables,
      version,
      onChange: () => {
        settler.wake()
        asked?.enricher.wake()
      },
      clock,
      log,
    })
    takeIn = () => intake.wake()
    intake.start()
    steps.push({
      why: 'nothing more arrives: take in what is waiting',
      stop: async () => {
        await intake.stop()
        await intake.drain()
      },
    })

    if (platform !== undefined) {
      const asking = createAsking({
        ...{ platform, config, store, selection, clock, log },
        rules: absorbRules,
        onChange: () => settler.wake(),
        onAccepted: () => intake.wake(),
      })
      asked = asking
      asking.start()
      steps.push({ why: 'what was not asked yet is asked after the next start', stop: async () => asking.stop() })
    }

    const { retention, remember } = config
    const upkeep = createUpkeep({ store, served: lanes, retention, remember, clock, log })
    upkeep.start()
    steps.push({ why: 'what is old can wait for the next start', stop: async () => upkeep.stop() })

    const clockWatch = createClockWatch({ store, clock, log })
    clockWatch.start()
    steps.push({ why: 'the clock is looked at after the next start', stop: async () => clockWatch.stop() })

    const trends = createTrendLoop({ trends: store.views.trends, clock, log })
    trends.start()
    steps.push({ why: 'figures are taken in after the next start', stop: async () => trends.stop() })

    const health = createHealth({
      proveWritable: async () => proveRoom(store),
      stopping: () => stopping,
      now: () => elapsed(clock),
      log,
    })
    const common = { basePath: config.basePath, trustProxy: config.trustProxy, health, log }
    const limits = { connections: connectionLimits(openFilesLimit(), memoryLimit()).admin }
    const admin = createListener({ name: 'admin', ...config.admin.listen, ...common, limits })
    own.observe(
      lookAt({
        now: () => clock.now(),
        door,
        intake,
        freezer,
        settler,
        exporter,
        flush,
        store,
        budget: platform?.budget,
        asking: () => asked,
      }),
    )
    const metrics = metricsPage(config, store, own, settings)
    if (config.metrics.open) admin.register(metrics)
    const pages = {
      ...{ config, store, exporter, flush, door, intake, freezer, destinations, settings, clock, log },
      asking: () => asked,
      lastAccepted: () => lastAccepted,
      url: () => publicUrl,
    }
    admin.register(pagesOf(pages, config.metrics.open ? [] : [metrics]))
    const { url: adminUrl } = await admin.start()
    steps.push({ why: 'orchestrators may ask until the end', stop: async () => admin.stop(drainDeadline) })
    const url = await front.opened
    publicUrl = url
    steps.push(acceptNothingMore)

    return {
      url,
      adminUrl,
      store,
      exporter,
      refresh: () => {
        door.refresh()
        exporter.wake()
      },
      stop: async (flushMs = flushDeadline) => {
        stopping = true
        flushUntil = elapsed(clock) + flushMs
        await stopAll(steps, log)
      },
    }
  } catch (error) {
    steps.push(acceptNothingMore)
    await stopAll(steps, log)
    throw error
  }
}
