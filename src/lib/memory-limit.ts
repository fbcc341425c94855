// How much memory the process may have.
import { totalmem } from 'node:os'

/** The memory limit of the container, bytes; undefined if there is none below the machine's memory. */
export function memoryLimit(): number | undefined {
  const found = process.constrainedMemory()
  return found > 0 && found < totalmem() ? found : undefined
}
