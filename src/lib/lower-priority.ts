// The priority of the thread that calls, in the system's measure.
import { constants, getPriority, setPriority } from 'node:os'

/** So much lower, a thread still has a quarter of a busy processor beside one that is not. */
const difference = 5

/** Lowers it below other threads'. Only Linux knows priorities of threads; where the system forbids it, nothing changes. */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + difference))
  } catch {
    // As before.
  }
}
