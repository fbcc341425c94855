// Lowers the scheduling priority of the calling thread.
import { constants, getPriority, setPriority } from 'node:os'

/** Nice levels. With 5 more, a thread still gets a quarter of a processor that it shares with a normal thread. */
const difference = 5

/** On Linux only, where priorities belong to threads; nothing happens where the system forbids it. */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + difference))
  } catch {
    // The priority stays as it is.
  }
}
