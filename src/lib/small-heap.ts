// Keeps the heaps of all threads close to the size of their live data. By default V8 lets garbage grow to several times that size while the machine
// has free memory. A daemon that creates many short-lived objects would then retain much garbage.
import { runInNewContext } from 'node:vm'
import { setFlagsFromString } from 'node:v8'
import { after, type Timer } from './timer.ts'
import { totalmem } from 'node:os'

/** If the memory limit of the container is below this number of bytes, memory matters more than processor time. */
const small = 384 * 2 ** 20

/**
 * Limits the growth of V8's heap. The function must be called after startup, when the semi-spaces of the young generation have reached some 4 MiB.
 * From then on they hardly grow, and V8 collects the old generation each time it has doubled. V8 reads these flags whenever it needs them, and
 * ignores flags that a later version no longer has. `limit` is the container's memory limit in bytes, or undefined. In a small container, V8 collects
 * the old generation when it has grown by two fifths. Maglev, the third of V8's four compilers, is turned off there, because it briefly needs memory
 * that the allocator does not return. The measurements are in decision 65.
 */
export function keepHeapsSmall(limit: number | undefined): void {
  const isSmall = limit !== undefined && limit < small
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString(`--heap-growing-percent=${isSmall ? 40 : 100}`)
  if (isSmall) setFlagsFromString('--no-maglev')
}

/**
 * Keeps V8 from compiling hot WebAssembly a second time. The function must be called when everything is loaded and before the first request is sent:
 * after one response it is too late. The only hot WebAssembly is the HTTP client's parser: one function, a state machine. Compiling it takes 22 MiB,
 * which the allocator keeps. The flag restricts the second compilation to one function index, which no function has.
 */
export function compileWebAssemblyOnce(): void {
  setFlagsFromString('--wasm-tier-up-filter=1000000')
}

/** The time in ms after which startup is over. By then the memory allocated during startup is garbage, and little is allocated later. */
const startupMs = 1_500

/**
 * Collects garbage once after startup. It must be called once on each thread when the thread starts. An idle thread allocates too little for its
 * young generation ever to be collected. So the young generation would keep the size that it had after startup, and half of it would be garbage. One
 * collection takes 2 ms. V8 then shrinks the young generation of an idle thread by itself, and returns the rest to the system within some seconds.
 */
export function collectAfterStart(onError: (error: unknown) => void): Timer {
  return after(startupMs, collectYoung, onError)
}

function collectYoung(): void {
  // The function `gc` exists only in V8 contexts that are created while this flag is set.
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('globalThis.gc') as ((options: { type: 'minor' }) => void) | undefined
  setFlagsFromString('--no-expose-gc')
  gc?.({ type: 'minor' })
}

/** Returns the container's memory limit in bytes, or undefined if no limit is below the machine's memory. */
export function memoryLimit(): number | undefined {
  const found = process.constrainedMemory()
  return found > 0 && found < totalmem() ? found : undefined
}
