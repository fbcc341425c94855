// The daemon: the ingress and the store, which run until its end, and the parts (`parts.ts`), which a reload stops and starts anew with another
// configuration. Meanwhile webhooks are accepted, and all that is under way is in the store. It is also what tests and commands start.
import { drainDeadline } from './ingress-thread-handle.ts'
import { forgetListeners } from './events.ts'
import { EndOfProcess } from '../lib/uncaught.ts'
import { reasonOf } from '../lib/fault.ts'
import { startEarly, type EarlyStart, type EarlyStartOptions } from './early-start.ts'
import { startParts, type Parts, type PartsOptions } from './parts.ts'
import { systemClock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'
import type { ConfigStatus } from '../pages/sources/setup-shape.ts'
import type { Exporter } from '../export/exporter.ts'
import type { ProfileName } from './profile.ts'
import type { Store } from '../store/ports/store.ts'

export interface DaemonOptions extends EarlyStartOptions {
  /** What was started before this module was loaded. */
  readonly early?: EarlyStart | undefined
  /** Which configuration is live; undefined: nothing reloads it. */
  readonly configStatus?: (() => ConfigStatus) | undefined
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
  const { log, clock = systemClock, configStatus } = options
  let { config } = options
  const early = options.early ?? (await startEarly({ config, log, clock }))
  const { ingress, events, steps } = early
  let isStopping = false
  let reloading: Promise<void> | undefined
  const start = async (next: Config<ProfileName>, after?: PartsOptions['after']): Promise<Parts> =>
    startParts({ config: next, early, clock, log, configStatus, after, isStopping: () => isStopping })
  const stopAll = async (parts: Parts | undefined, flushMs: number): Promise<void> => {
    isStopping = true
    // Stop accepting connections first; the parts finish what was accepted.
    await ingress.stop(drainDeadline)
    await parts?.stop(flushMs)
    await steps.stop(flushMs)
  }
  let parts: Parts | undefined
  try {
    parts = await start(config)
    const url = await early.opened
    return daemonOf(parts, url)
  } catch (error) {
    await stopAll(parts, 0)
    throw error
  }

  function daemonOf(first: Parts, url: string): Daemon {
    let running = first
    async function restart(next: Config<ProfileName>): Promise<void> {
      const after = { adminPort: Number(new URL(running.adminUrl).port), received: ingress.counts }
      await running.stop(reloadDeadline)
      forgetListeners(events)
      try {
        running = await start(next, after)
        config = next
        ingress.refresh(next)
      } catch (error) {
        log.error(
          { reason: reasonOf(error) },
          'the new configuration cannot be used: the daemon goes on with the one before',
        )
        forgetListeners(events)
        running = await start(config, after).catch((cause: unknown) => {
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
        ingress.refresh()
        running.exporter.wake()
      },
      reload: async next => {
        if (isStopping) return
        reloading = restart(next)
        await reloading
      },
      stop: async (flushMs = flushDeadline) => {
        await reloading?.catch(() => undefined)
        await stopAll(running, flushMs)
      },
    }
  }
}
