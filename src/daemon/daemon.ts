// The daemon: the store and the listener for webhooks, which run until it stops, and the parts (`parts.ts`), which a reload stops and starts again with
// another configuration. All work in progress is in the store. Tests and commands start this same object.
import { createReceiving, drainDeadline } from './receiving.ts'
import { tablesOf, type Feature } from './feature.ts'
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
  /** The state of the live configuration; undefined: nothing reloads it. */
  readonly configStatus?: (() => ConfigStatus) | undefined
  /** Called when the store is damaged and can be neither read nor written reliably; must end the process. */
  readonly onDamage?: ((fault: Fault) => void) | undefined
}

export interface Daemon {
  /** The URL at which webhooks are received. */
  readonly url: string
  readonly adminUrl: string
  readonly store: Store
  readonly exporter: Exporter
  /** To be called when secrets or certificates may have changed: the new ones are used from the next request on. */
  refresh(): void
  /**
   * Uses another configuration, which may only differ in settings that need no restart. If the parts cannot start with it, they start with the old one, and
   * this rejects with the reason. Must not be called again before it has ended.
   */
  reload(config: Config<ProfileName>): Promise<void>
  /** Stops accepting deliveries, finishes intake, and sends what is due within `flushMs`. The rest waits in the store. */
  stop(flushMs?: number): Promise<void>
}

/** How long a stop may go on sending pending exports, ms. */
export const flushDeadline = 20_000
/** The same for the parts at a reload, ms. The new parts send the rest. */
const reloadDeadline = 3_000

/** Throws a Fault with a remedy if anything that the daemon needs is not available; then it stops the parts that it has started. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { features, log, clock = systemClock, configStatus, onDamage } = options
  let { config } = options
  const steps = createSteps(clock, log)
  const events = createEvents()
  let isStopping = false
  let reloading: Promise<void> | undefined
  const { url: location, maxSize } = config.store
  // A reload replaces this function, while the store stays open.
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
    // The listener stops first. Then the parts finish what was received.
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
          'the new configuration cannot be used: the daemon goes on with the one before',
        )
        forgetListeners(events)
        parts = running = await start(config, adminPort).catch((cause: unknown) => {
          throw new EndOfProcess(`The daemon cannot go on with the configuration before either: ${reasonOf(cause)}`)
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
