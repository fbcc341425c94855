// Counts how often other work on the thread can run while a promise is pending. The number does not depend on the machine's speed.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Returns the number of turns of the event loop until `work` resolves. */
export async function turnsDuring(work: Promise<unknown>): Promise<number> {
  const over = new AbortController()
  const done = work.finally(() => over.abort())
  let turns = 0
  for (; !over.signal.aborted; turns += 1) await nextTurn()
  await done
  return turns
}
