// Ends its own process with SIGKILL when a deadly delivery is read, a deadly run settled or a deadly outbox entry encoded. Loaded before
// the program (`node --import`), which knows nothing of it: a mistake that nobody has found yet, or memory that does not suffice.
import { isMainThread } from 'node:worker_threads'

const die = (): void => void process.kill(process.pid, 'SIGKILL')

if (isMainThread && process.env.TEST_DEADLY !== 'no') {
  const { parse, stringify } = JSON
  JSON.parse = (text: string, ...rest: [((this: unknown, key: string, value: unknown) => unknown)?]): unknown => {
    if (text.includes('"deadly delivery"')) die()
    return parse(text, ...rest) as unknown
  }
  // Chunks alone have a trace, and they are written when a run is settled.
  JSON.stringify = ((value: unknown, ...rest: []): string | undefined => {
    const text = stringify(value, ...rest) as string | undefined
    if (text?.includes('deadly run') === true && text.includes('"trace":')) die()
    return text
  }) as typeof stringify
  // In a row of a database it stands in the middle of a text.
  const prototype = Buffer.prototype as { write: (text: string, ...rest: unknown[]) => number }
  const { write } = prototype
  prototype.write = function (text, ...rest) {
    if (text.startsWith('deadly entry')) die()
    return write.call(this, text, ...rest)
  }
}
