// Stops the started parts in reverse order. Each step states why it can be stopped at that point.
import { elapsed, type Clock } from '../lib/clock.ts'
import { reasonOf } from '../lib/fault.ts'
import type { Log } from '../lib/log.ts'
import type { Loop } from '../lib/loop.ts'

/** A running part of the daemon, and how to stop it. */
export interface Started<Part> {
  readonly part: Part
  /** Why it is safe to stop the part once all later parts have stopped. */
  readonly why: string
  /** Stops the part. `left` returns for how much longer the part may send, in ms. */
  readonly stop: (left: () => number) => Promise<void>
}

export interface Steps {
  add<Part>(started: Started<Part>): Part
  /** Adds a part that is stopped after all others, even if it was not started first. */
  addLast<Part>(started: Started<Part>): Part
  /** Stops all steps. If one fails, the others are still stopped. `sendMs` is how long all of them together may continue to send. */
  stop(sendMs: number): Promise<void>
}

/** Starts a loop and returns the step that stops it. If the loop is undefined, there is nothing to start. */
export function startLoop<Part extends Loop | undefined>(part: Part, why: string): Started<Part> {
  part?.start()
  return { part, why, stop: async () => part?.stop() }
}

/**
 * Starts a loop with a queue. `isLast` means that nothing more arrives, so stopping must process the remaining items. During a reload, the loop's
 * successor does that.
 */
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
