// Starts the daemon, part by part, and stops it in the reverse order. It is also what tests and commands start.
import { connectPlatforms } from './connections.ts'
import { startPlatformParts } from './platform-parts.ts'
import { summedIfAny } from './summed.ts'
import { drainDeadline } from './ingress-thread-handle.ts'
import { startChangeCounter, startDeploymentCounter, startIncidentCounter } from './counters.ts'
import { exportDestinations, startExporter, startMetricFlush, startTokenReport } from './export.ts'
import { startIncidentPoller } from './incidents.ts'
import { observeParts } from '../self-telemetry/observe-parts.ts'
import { mergeRulesOf, selectionOf, snapshotterOf, startIntake, startSettling } from './processing.ts'
import { startAdmin } from './admin.ts'
import { startAudit } from './audit.ts'
import { startClockWatch, startMaintenance, startTrends } from './maintenance.ts'
import { startInventory } from './inventory.ts'
import { startJobReader } from './job-reader.ts'
import { startEarly, type EarlyStart } from './early-start.ts'
import { judgesRegressions, startRegressions } from './regressions.ts'
import { startSelfTelemetry } from './self-telemetry.ts'
import { systemClock, type Clock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'
import type { Context } from './context.ts'
import type { Exporter } from '../export/exporter.ts'
import type { Log } from '../lib/log.ts'
import type { ProfileName } from './profile.ts'
import type { Store } from '../store/ports/store.ts'

export interface DaemonOptions {
  readonly config: Config<ProfileName>
  readonly log: Log
  readonly clock?: Clock | undefined
  /** What was started before this module was loaded. */
  readonly early?: EarlyStart | undefined
}

export interface Daemon {
  /** Where webhooks are received. */
  readonly url: string
  readonly adminUrl: string
  readonly store: Store
  readonly exporter: Exporter
  /** Secrets or certificates may have changed: they are used from the next request on. */
  refresh(): void
  /** Stops accepting, finishes intake, sends what is due within `flushMs`; what is not sent waits in the store. */
  stop(flushMs?: number): Promise<void>
}

/** How long a stop may spend on sending what is pending, ms. */
export const flushDeadline = 20_000

/** Throws a Fault with a remedy if anything that it needs is not available; parts that were started by then are stopped. */
export async function startDaemon({ config, log, clock = systemClock, early }: DaemonOptions): Promise<Daemon> {
  const { ingress, events, steps, ...begun } = early ?? (await startEarly({ config, log, clock }))
  const acceptNothingMore = { why: 'stop accepting connections', stop: async () => ingress.stop(drainDeadline) }
  try {
    const own = steps.addLast(await startSelfTelemetry(config, clock))
    const store = own.watch.store(begun.store)
    events.committed.on((tookMs, failed) => own.watch.operation('inbox.put', tookMs, failed))
    const context: Context = { config, store, events, clock, log }

    const outlets = exportDestinations(config)
    steps.add(startTokenReport(context, outlets))
    const exporter = steps.add(startExporter(context, outlets, own.watch.exports))
    const flush = steps.add(startMetricFlush(context, outlets, own.watch.exports))

    const connections = connectPlatforms(config, store, clock, log, own.watch)
    const enriches = connections.length > 0
    const selection = selectionOf(config)
    const rules = mergeRulesOf(config, enriches)
    const snapshotter = snapshotterOf(context, outlets, selection, connections)
    const settleLoop = steps.add(startSettling(context, snapshotter))
    const intake = steps.add(startIntake(context, snapshotter, selection, rules, outlets.queues))
    const parts = enriches ? steps.add(startPlatformParts(context, connections, selection, rules)) : undefined
    const audits = connections.map(one => steps.add(startAudit(context, one, selection, outlets.queues)))
    const inside = enriches ? steps.add(startJobReader(context, connections, outlets)) : undefined
    const deployments = steps.add(startDeploymentCounter(context, connections, outlets))
    const changes = steps.add(startChangeCounter(context, outlets))
    const incidents = steps.add(startIncidentCounter(context, outlets))
    const incidentPollers = connections.map(one =>
      steps.add(startIncidentPoller(context, one, selection, outlets.queues)),
    )

    const [first, ...others] = connections
    steps.add(startInventory(context, first, true, selection, outlets.queues))
    for (const one of others) steps.add(startInventory(context, one, false, selection, outlets.queues))
    steps.add(startMaintenance(context, outlets.queues))
    steps.add(startClockWatch(context))
    // Beside the pages, usual durations are read by the search for regressions, and by what asks the platform.
    steps.add(startTrends(context, config.pages.enabled || enriches || judgesRegressions(config)))
    steps.add(startRegressions(context, selection, outlets.queues))

    const counted = {
      ingress,
      intake,
      snapshotter,
      settleLoop,
      exporter,
      flush,
      store,
      deployments,
      changes,
      incidents,
      incidentPoller: summedIfAny(present(incidentPollers)),
      budgets: connections.map(({ name, budget }) => ({ platform: name, budget })),
      enricher: parts?.enricher,
      poller: summedIfAny(parts?.pollers.map(({ poller }) => poller) ?? []),
      redelivery: summedIfAny(parts?.redeliveries.map(({ redelivery }) => redelivery) ?? []),
      audit: summedIfAny(present(audits)),
    }
    own.observe(async () => observeParts({ ...counted, ...inside }))
    const shown = { ...counted, ...outlets, platform: parts, connections, inside }
    const adminUrl = steps.add(await startAdmin(context, shown, own, steps))
    const url = steps.add({ part: await begun.opened, ...acceptNothingMore })

    return {
      ...{ url, adminUrl, store, exporter },
      refresh: () => {
        ingress.refresh()
        exporter.wake()
      },
      stop: async (flushMs = flushDeadline) => steps.stop(flushMs),
    }
  } catch (error) {
    steps.add({ part: undefined, ...acceptNothingMore })
    await steps.stop(0)
    throw error
  }
}

function present<T>(all: readonly (T | undefined)[]): T[] {
  return all.filter(one => one !== undefined)
}
