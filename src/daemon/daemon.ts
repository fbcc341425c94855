// The daemon. The store and the webhook listener run until it stops. A reload stops the other parts (`parts.ts`) and starts them again with the new
// configuration. All work in progress is in the store. Tests and commands start the same daemon.
import { createReceiving, drainDeadline } from './receiving.ts'
import { tablesOf, type Feature, type ToRead } from './feature.ts'
import { createEvents, forgetListeners } from './events.ts'
import { encoderOf } from './export.ts'
import { EndOfProcess } from '../lib/uncaught.ts'
import { reasonOf, type Fault } from '../lib/fault.ts'
import { createSteps } from './steps.ts'
import { openOwnStore, statementTimeout } from '../core/store/open-store.ts'
import { startParts, type Parts } from './parts.ts'
import { systemClock, type Clock } from '../lib/clock.ts'
import type { Config } from './configuration/options.ts'
import type { ConfigStatus } from '../console/sources/setup-shape.ts'
import type { Exporter } from '../core/send/exporter.ts'
import type { ProfileName } from './profile.ts'
import type { Log } from '../lib/log.ts'
import type { Store } from '../core/store/ports/store.ts'

export interface DaemonOptions {
  readonly config: Config<ProfileName>
  readonly features: readonly Feature[]
  readonly log: Log
  readonly clock?: Clock | undefined
  /** Returns the results of configuration reloads; undefined if the configuration is never reloaded. */
  readonly configStatus?: (() => ConfigStatus) | undefined
  /** Called when the store is damaged and can no longer be read and written reliably. The callback must end the process. */
  readonly onDamage?: ((fault: Fault) => void) | undefined
}

export interface Daemon {
  /** The URL at which webhooks are received. */
  readonly url: string
  readonly adminUrl: string
  readonly store: Store
  readonly exporter: Exporter
  /** Counts what the daemon still has to read about exported pipelines, such as job logs. */
  toRead(): Promise<ToRead>
  /** Loads changed secrets and certificates. They take effect with the next request. */
  refresh(): void
  /**
   * Applies another configuration, which may differ only in settings that need no restart. If the parts cannot start with it, they start with the old
   * one, and the promise rejects with the reason. Calls must not overlap.
   */
  reload(config: Config<ProfileName>): Promise<void>
  /**
   * Stops accepting deliveries, finishes taking in those already received, and sends pending exports for at most `flushMs`. The remaining exports
   * stay in the store.
   */
  stop(flushMs?: number): Promise<void>
}

/** How long the daemon may continue to send pending exports while it stops, in ms. */
export const flushDeadline = 20_000
/** How long the old parts may continue to send pending exports during a reload, in ms. The new parts send the remaining exports. */
const reloadDeadline = 3_000

/**
 * Starts the daemon. If anything that the daemon needs is not available, stops everything that was already started, and throws a Fault that says how
 * to fix it.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { features, log, clock = systemClock, configStatus, onDamage } = options
  let { config } = options
  const steps = createSteps(clock, log)
  const events = createEvents()
  let isStopping = false
  let reloading: Promise<void> | undefined
  const { url: location, maxSize } = config.store
  // A reload replaces this encoder, while the store that uses it stays open.
  let encode = encoderOf(config, features)
  const store = await openOwnStore(location, {
    ...{ maxSize, parts: tablesOf(features), log, onDamage, daemon: true, timeoutMs: statementTimeout },
    encode: (chunk, to) => encode(chunk, to),
  })
  steps.add({
    part: store,
    why: 'all writes are done: release the store for the next daemon',
    stop: async () => store.close(),
  })
  let parts: Parts | undefined
  const receiving = createReceiving({ config, store, isStopping: () => isStopping, clock, log })
  const start = async (next: Config<ProfileName>, adminPort?: number): Promise<Parts> => {
    const shared = {
      features,
      store,
      receiving,
      events,
      clock,
      log,
      configStatus,
      adminPort,
      isStopping: () => isStopping,
    }
    encode = encoderOf(next, features)
    return startParts({ config: next, ...shared })
  }
  const stopAll = async (flushMs: number): Promise<void> => {
    isStopping = true
    // The webhook listener stops first. Then the daemon's other parts finish processing the received deliveries.
    await receiving.stop(drainDeadline)
    await parts?.stop(flushMs)
    await steps.stop(flushMs)
  }
  try {
    await store.reclaim()
    parts = await start(config)
    return daemonOf(parts, await receiving.open())
  } catch (error) {
    await stopAll(0)
    throw error
  }

  function daemonOf(first: Parts, url: string): Daemon {
    let running = first
    async function restart(next: Config<ProfileName>): Promise<void> {
      const adminPort = Number(new URL(running.adminUrl).port)
      await running.stop(reloadDeadline)
      forgetListeners(events)
      try {
        parts = running = await start(next, adminPort)
        config = next
        receiving.refresh(next)
      } catch (error) {
        log.error(
          { reason: reasonOf(error) },
          'the new configuration cannot be used; the daemon continues with the previous configuration',
        )
        forgetListeners(events)
        parts = running = await start(config, adminPort).catch((cause: unknown) => {
          throw new EndOfProcess(
            `The daemon cannot continue with the previous configuration either: ${reasonOf(cause)}`,
          )
        })
        throw error
      }
    }
    return {
      url,
      get adminUrl() {
        return running.adminUrl
      },
      get store() {
        return running.store
      },
      get exporter() {
        return running.exporter
      },
      toRead: async () => running.toRead(),
      refresh: () => {
        receiving.refresh()
        running.exporter.wake()
      },
      reload: async next => {
        if (isStopping) return
        reloading = restart(next)
        await reloading
      },
      stop: async (flushMs = flushDeadline) => {
        await reloading?.catch(() => undefined)
        await stopAll(flushMs)
      },
    }
  }
}
