// How much memory is live in this process: the same on every machine, where resident memory depends on how late garbage is collected.
import { runInNewContext } from 'node:vm'
import { setFlagsFromString } from 'node:v8'

let collect: (() => void) | undefined

/** What is live in the heap and beside it, bytes: all that is not is collected first, which takes a moment. */
export function liveMemory(): number {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
