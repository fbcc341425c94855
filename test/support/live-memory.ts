// Measures how much memory is live in this process. It is the same on every machine, unlike resident memory, which depends on when garbage is collected.
import { runInNewContext } from 'node:vm'
import { setFlagsFromString } from 'node:v8'

let collect: (() => void) | undefined

/** The live bytes in the heap and outside of it. All garbage is collected first, which takes a moment. */
export function liveMemory(): number {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
