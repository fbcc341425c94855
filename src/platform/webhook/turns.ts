// Work that pauses: a generator that yields wherever other work may run in between. It is run to its end at once, or in turns of the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Work with a result. */
export type Turns<T> = Generator<undefined, T>

/** How long one turn may last, ms. */
const turnMs = 10

/** Bytes that are read between two pauses: about a millisecond. */
export const bytesBetweenPauses = 256 * 1024

/** Items that are read between two pauses. */
export const itemsBetweenPauses = 500

export function atOnce<T>(work: Turns<T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}

export async function inTurns<T>(work: Turns<T>): Promise<T> {
  for (;;) {
    const until = performance.now() + turnMs
    do {
      const { done, value } = work.next()
      if (done === true) return value
    } while (performance.now() < until)
    await nextTurn()
  }
}
