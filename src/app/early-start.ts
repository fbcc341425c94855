// What a webhook needs of the daemon, the store and the door to it: part of the composition root. It is there first, and loads
// little, so that webhooks are taken while all that works them off is still being loaded and built.
import { constants, getPriority, setPriority } from 'node:os'
import { journalMarks, openOwnStore, patience } from '../store/open-store.ts'
import { reasonOf } from '../lib/fault.ts'
import { startDoor, type Door } from './ingress.ts'
import type { Config } from '../config/options.ts'
import type { Log } from '../lib/log.ts'
import type { ProfileName } from '../platform/profile.ts'
import type { Store } from '../store/ports/store.ts'
import type { Worker } from 'node:worker_threads'

export interface FrontOptions {
  readonly config: Config<ProfileName>
  readonly log: Log
  /** The door's thread, where it was begun early. */
  readonly thread?: Worker | undefined
}

export interface Front {
  readonly store: Store
  readonly door: Door
  /** The door's URL, once webhooks are taken. */
  readonly opened: Promise<string>
  /** From now on it is told here what the door does, and at once whether it has accepted something before. */
  hear(ears: DoorEars): void
  /** How to stop it; whoever builds on it adds steps of its own. */
  readonly steps: Step[]
}

export interface DoorEars {
  /** Called after each commit that accepted something. */
  readonly onAccepted: () => void
  /** Called after each commit, or try of one. */
  readonly onPut: (tookMs: number, failed: boolean) => void
}

export interface Step {
  readonly why: string
  readonly stop: () => Promise<void>
}

/** How long requests in flight may take at a stop, ms. */
export const drainDeadline = 5_000

/** Throws a Fault with a remedy when the store cannot be had; what was built by then is stopped again. */
export async function openFront({ config, log, thread }: FrontOptions): Promise<Front> {
  const { url, maxSize } = config.store
  const steps: Step[] = []
  let ears: DoorEars | undefined
  let acceptedBefore = false
  const marks = journalMarks()
  const door = startDoor({
    ...{ thread, config, marks, log },
    onAccepted: () => {
      acceptedBefore = true
      ears?.onAccepted()
    },
    onPut: (tookMs, failed) => ears?.onPut(tookMs, failed),
  })
  steps.push({ why: 'the thread of the door is not needed any more', stop: async () => door.stop(0) })
  try {
    const store = await openOwnStore(url, { maxSize, marks, log, patience: patience.daemon })
    steps.push({ why: 'nobody writes any more: the next daemon may have the store', stop: async () => store.close() })
    await store.reclaim()
    const opened = door.open()
    // Whoever builds the rest waits for it in the end: until then nobody has to look after a door that cannot be opened.
    opened.then(giveWay, () => undefined)
    const hear = (found: DoorEars): void => {
      ears = found
      if (acceptedBefore) found.onAccepted()
    }
    return { store, door, opened, hear, steps }
  } catch (error) {
    await stopAll(steps, log)
    throw error
  }
}

/** How much nicer this thread is than the door's, in the system's measure: beside it, it still has a quarter of a busy processor. */
const nicer = 5

/**
 * From now on this thread gives way to the door's where there are not enough processors for both: what is taken in can be worked
 * off later. Only Linux knows priorities of threads; where the system forbids it, both stay equal.
 */
function giveWay(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + nicer))
  } catch {
    // As before.
  }
}

/** The last one first; every step is tried, also after one that failed. */
export async function stopAll(steps: Step[], log: Log): Promise<void> {
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    log.debug({ why: step.why }, 'stopping')
    try {
      await step.stop()
    } catch (error) {
      log.error({ why: step.why, reason: reasonOf(error) }, 'a part of the daemon did not stop cleanly')
    }
  }
}
