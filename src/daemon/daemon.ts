// The daemon: the store and the listener for webhooks, which run until its end, and the parts (`parts.ts`), which a reload stops and starts anew with
// another configuration. All that is under way is in the store. It is also what tests and commands start.
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
  /** Which configuration is live; undefined: nothing reloads it. */
  readonly configStatus?: (() => ConfigStatus) | undefined
  /** The store is damaged and can be neither read nor written reliably: ends the process. */
  readonly onDamage?: ((fault: Fault) => void) | undefined
}

export interface Daemon {
  /** Where webhooks are received. */
  readonly url: string
  readonly adminUrl: string
  readonly store: Store
  readonly exporter: Exporter
  /** Secrets or certificates may have changed: they are used from the next request on. */
  refresh(): void
  /**
   * Uses another configuration, which may differ in what needs no restart. If the parts cannot start with it, they start with the one before, and
   * this rejects with the reason. Not to be called again before it has ended.
   */
  reload(config: Config<ProfileName>): Promise<void>
  /** Stops accepting, finishes intake, sends what is due within `flushMs`; what is not sent waits in the store. */
  stop(flushMs?: number): Promise<void>
}

/** How long a stop may spend on sending what is pending, ms. */
export const flushDeadline = 20_000
/** The same of the parts for a reload: what is not sent is sent by their successors. */
const reloadDeadline = 3_000

/** Throws a Fault with a remedy if anything that it needs is not available; parts that were started by then are stopped. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { features, log, clock = systemClock, configStatus, onDamage } = options
  let { config } = options
  const steps = createSteps(clock, log)
  const events = createEvents()
  let isStopping = false
  let reloading: Promise<void> | undefined
  const { url: location, maxSize } = config.store
  // A reload replaces it, while the store stays open.
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
    // Stop accepting first; the parts finish what was received.
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
