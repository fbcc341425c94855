// Stops what was started in reverse order. Each step says why it can be stopped now.
import { elapsed, type Clock } from '../lib/clock.ts'
import { reasonOf } from '../lib/fault.ts'
import type { Log } from '../lib/log.ts'
import type { Loop } from '../lib/loop.ts'

/** A part of the daemon that runs, and how it ends. */
export interface Started<Part> {
  readonly part: Part
  /** Why it can be stopped once all later parts have stopped. */
  readonly why: string
  /** `left`: how many ms may still be spent on sending. */
  readonly stop: (left: () => number) => Promise<void>
}

export interface Steps {
  /** Returns the part. */
  add<Part>(started: Started<Part>): Part
  /** A part that is stopped after all others, although it was not started first. */
  addLast<Part>(started: Started<Part>): Part
  /** Every step is tried, also after one that failed. `sendMs`: how long all of them together may go on sending. */
  stop(sendMs: number): Promise<void>
}

/** Starts a loop that its stop ends. Undefined: there is nothing to start. */
export function startLoop<Part extends Loop | undefined>(part: Part, why: string): Started<Part> {
  part?.start()
  return { part, why, stop: async () => part?.stop() }
}

/** The same of a loop with a queue. `isLast`: whether nothing more arrives; at a reload its successor goes on with the rest. */
export function startDraining<Part extends Loop & { drain(): Promise<void> }>(
  part: Part,
  why: string,
  isLast: () => boolean,
): Started<Part> {
  const stop = async (): Promise<void> => {
    await part.stop()
    if (isLast()) await part.drain()
  }
  return { ...startLoop(part, why), stop }
}

type Step = Omit<Started<unknown>, 'part'>

export function createSteps(clock: Clock, log: Log): Steps {
  const steps: Step[] = []
  return {
    add: started => {
      steps.push(started)
      return started.part
    },
    addLast: started => {
      steps.unshift(started)
      return started.part
    },
    stop: async sendMs => {
      const until = elapsed(clock) + sendMs
      const left = (): number => Math.max(0, until - elapsed(clock))
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        log.debug({ why: step.why }, 'stopping')
        try {
          await step.stop(left)
        } catch (error) {
          log.error({ why: step.why, reason: reasonOf(error) }, 'a part of the daemon did not stop cleanly')
        }
      }
    },
  }
}
