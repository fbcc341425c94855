// Keeps the heaps of all threads close to the size of their live data. By default V8 lets garbage grow to several times that while
// the machine has memory, and a daemon with many short-lived objects has much garbage.
import { runInNewContext } from 'node:vm'
import { setFlagsFromString } from 'node:v8'
import { after, type Timer } from './timer.ts'
import { totalmem } from 'node:os'

/** In a container with a smaller limit, bytes, memory matters more than processor time. */
const small = 384 * 2 ** 20

/**
 * Limits the growth of V8's heap. Call it after the start, when the semi-spaces of the young generation have reached some 4 MiB. From then on they
 * hardly grow, and V8 collects the old generation each time it has doubled. V8 reads these flags whenever it needs them, and ignores those that a later
 * version no longer has. `limit`: the container's memory limit in bytes, or undefined. In a small container V8 collects the old generation when it has
 * grown by two fifths. Maglev, the third of V8's four compilers, is turned off there, because the allocator does not return the memory that Maglev
 * needs for a moment. Decision 65 has the measurements.
 */
export function keepHeapsSmall(limit: number | undefined): void {
  const isSmall = limit !== undefined && limit < small
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString(`--heap-growing-percent=${isSmall ? 40 : 100}`)
  if (isSmall) setFlagsFromString('--no-maglev')
}

/**
 * Call this once everything is loaded and before the first request is sent: after one answer it is too late. V8 compiles hot WebAssembly a second
 * time. Here that is the parser of the HTTP client: one function, a state machine. Compiling it takes 22 MiB, which the allocator keeps. No function
 * has the index in the filter, so none is compiled again.
 */
export function compileWebAssemblyOnce(): void {
  setFlagsFromString('--wasm-tier-up-filter=1000000')
}

/** The start is over after this time, ms. What the start allocated is garbage by then, and little is allocated later. */
const startIsOver = 1_500

/**
 * Call this once on each thread at its start. An idle thread allocates too little for its young generation ever to be collected, so the young
 * generation would keep the size that the start gave it, and half of it would be garbage. One collection takes 2 ms. V8 then shrinks the young
 * generation of an idle thread by itself, and returns the rest to the system within some seconds.
 */
export function collectAfterStart(onError: (error: unknown) => void): Timer {
  return after(startIsOver, collectYoung, onError)
}

function collectYoung(): void {
  // The function exists only in contexts that are made while the flag is set.
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
