// Starts the store and the ingress thread first, so that webhooks are accepted while the rest of the daemon is still loading.
import { createEvents, type DaemonEvents } from './events.ts'
import { createSteps, type Steps } from './steps.ts'
import { openOwnStore } from '../store/open-store.ts'
import { timeoutMs } from '../store/store-location.ts'
import { deliveryPositions } from '../store/sqlite/deliveries/positions.ts'
import { systemClock, type Clock } from '../lib/clock.ts'
import { takeIngressThread, type Ingress } from './ingress-thread-handle.ts'
import type { Config } from '../config/options.ts'
import type { Log } from '../lib/log.ts'
import type { ProfileName } from './profile.ts'
import type { Store } from '../store/ports/store.ts'
import { constants, getPriority, setPriority } from 'node:os'

export interface EarlyStartOptions {
  readonly config: Config<ProfileName>
  readonly log: Log
  readonly clock?: Clock | undefined
}

export interface EarlyStart {
  readonly store: Store
  readonly ingress: Ingress
  /** The URL of the ingress, once webhooks are accepted. */
  readonly opened: Promise<string>
  readonly events: DaemonEvents
  /** Stops what was started; parts that start later add their steps. */
  readonly steps: Steps
}

/** Throws a Fault with a remedy if the store cannot be opened; parts that were started by then are stopped. */
export async function startEarly({ config, log, clock = systemClock }: EarlyStartOptions): Promise<EarlyStart> {
  const steps = createSteps(clock, log)
  const events = createEvents()
  const positions = deliveryPositions()
  const ingress = takeIngressThread({ config, positions, events, clock, log })
  steps.add({
    part: ingress,
    why: 'the ingress thread is no longer needed',
    stop: async () => ingress.stop(0),
  })
  try {
    const { url, maxSize } = config.store
    const store = await openOwnStore(url, { maxSize, positions, log, daemon: 'main', timeoutMs: timeoutMs.daemon })
    steps.add({
      part: store,
      why: 'all writes are done: release the store for the next daemon',
      stop: async () => store.close(),
    })
    await store.reclaim()
    const opened = ingress.open()
    // Processing can wait, accepting cannot: from now on this thread has a lower priority than the ingress. If the ingress cannot be opened, whoever
    // awaits `opened` reports it.
    opened.then(lowerPriority, () => undefined)
    return { store, ingress, opened, events, steps }
  } catch (error) {
    await steps.stop(0)
    throw error
  }
}

/** Nice levels. With 5 more, a thread still gets a quarter of a processor that it shares with a normal thread. */
const difference = 5
let isLower = false

/** Of the main thread, once in a process. On Linux only, where priorities belong to threads; nothing happens where the system forbids it. */
function lowerPriority(): void {
  if (isLower || process.platform !== 'linux') return
  try {
    setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + difference))
    isLower = true
  } catch {
    // The priority stays as it is.
  }
}
