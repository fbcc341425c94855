// Keeps the heaps of all threads close to the size of their live data. By default V8 lets garbage grow to several times that while
// the machine has memory, and a daemon with many short-lived objects has much garbage.
import { runInNewContext } from 'node:vm'
import { setFlagsFromString } from 'node:v8'
import { after, type Timer } from './timer.ts'
import { totalmem } from 'node:os'

/** Below this limit of a container, bytes, memory is worth more than processor time. */
const small = 384 * 2 ** 20

/**
 * To be called once the program is up, when the semi-spaces of the young generation have reached some 4 MiB. From then on they hardly
 * grow, and the old generation is collected when it has doubled. V8 reads these flags whenever it needs them; a later V8 that does
 * not know them ignores them. `limit`: of the container, bytes; undefined: none. In a small one the old generation is collected when it has grown by two
 * fifths. Maglev, the third of V8's four compilers, is left out there: the allocator keeps what it needs for a moment. Decision 65 has what both give and cost.
 */
export function keepHeapsSmall(limit: number | undefined): void {
  const isSmall = limit !== undefined && limit < small
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString(`--heap-growing-percent=${isSmall ? 40 : 100}`)
  if (isSmall) setFlagsFromString('--no-maglev')
}

/**
 * To be called once all is loaded, and before the first request is sent: one answer is enough, and it is too late. V8 compiles WebAssembly a second time
 * where it is hot. Here that is the parser of the HTTP client: one function, a state machine, which takes the compiler 22 MiB, and the allocator keeps
 * them. No function has the index in the filter, so none is compiled again.
 */
export function compileWebAssemblyOnce(): void {
  setFlagsFromString('--wasm-tier-up-filter=1000000')
}

/** When the start is over, ms: what it allocates is garbage by then, and little follows. */
const startIsOver = 1_500

/**
 * To be called once on each thread at its start. An idle thread allocates too little for its young generation ever to be collected, so it would
 * keep the size that the start gave it, half of it garbage. One collection takes 2 ms; V8 then makes the young generation of a thread that
 * does nothing smaller by itself, and returns the rest to the system within some seconds.
 */
export function collectAfterStart(onError: (error: unknown) => void): Timer {
  return after(startIsOver, collectYoung, onError)
}

function collectYoung(): void {
  // The function is only in contexts that are made while the flag is set.
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('globalThis.gc') as ((options: { type: 'minor' }) => void) | undefined
  setFlagsFromString('--no-expose-gc')
  gc?.({ type: 'minor' })
}

// How much memory the process may have.
/** The memory limit of the container, bytes; undefined if there is none below the machine's memory. */
export function memoryLimit(): number | undefined {
  const found = process.constrainedMemory()
  return found > 0 && found < totalmem() ? found : undefined
}
