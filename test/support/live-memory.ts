// Measures the live memory of this process. It is the same on every machine, unlike resident memory, which depends on the timing of garbage
// collections.
import { runInNewContext } from 'node:vm'
import { setFlagsFromString } from 'node:v8'

let collect: (() => void) | undefined

/** Returns the number of live bytes inside and outside the heap. It first collects all garbage, which takes a moment. */
export function liveMemory(): number {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
