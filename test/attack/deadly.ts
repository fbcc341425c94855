// Ends its own process with SIGKILL when a deadly delivery is read. Loaded before the program (`node --import`), which knows
// nothing of it: a mistake that nobody has found yet, or memory that does not suffice.
import { isMainThread } from 'node:worker_threads'

const parse = JSON.parse
if (isMainThread) {
  JSON.parse = (text: string, ...rest: [((this: unknown, key: string, value: unknown) => unknown)?]): unknown => {
    if (text.includes('"deadly delivery"')) process.kill(process.pid, 'SIGKILL')
    return parse(text, ...rest) as unknown
  }
}
