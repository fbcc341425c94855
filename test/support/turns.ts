// Counts how often other work of the thread may run during some work. The number does not depend on how fast the machine is.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Number of turns of the event loop until `work` resolves. */
export async function turnsDuring(work: Promise<unknown>): Promise<number> {
  const over = new AbortController()
  const done = work.finally(() => over.abort())
  let turns = 0
  for (; !over.signal.aborted; turns += 1) await nextTurn()
  await done
  return turns
}
