// Runs a command until it is stopped: by Ctrl-C or another signal, or by its caller.
import { once } from 'node:events'
import { exitCode } from '../lib/terminal.ts'

/**
 * A signal within this time after the first is the same one, ms. At Ctrl-C the terminal sends it to `npm run` and to its program, and npm passes it on
 * to the program again.
 */
const sameSignalWithinMs = 500

/** Calls back with each signal that asks for a stop; a second one exits at once. Returns a function that stops listening. */
export function onSignals(names: readonly NodeJS.Signals[], stop: (signal: string) => void): () => void {
  let since: number | undefined
  const onSignal = (signal: string): void => {
    since ??= performance.now()
    if (performance.now() - since >= sameSignalWithinMs) process.exit(exitCode.failed)
    stop(signal)
  }
  for (const name of names) process.on(name, onSignal)
  return () => {
    for (const name of names) process.off(name, onSignal)
  }
}

/** The first signal, or `outer`, aborts the AbortSignal of `run`. The second signal ends the process at once, and kills what it has started. */
export async function untilStopped(
  outer: AbortSignal | undefined,
  run: (stopping: AbortSignal) => Promise<number>,
): Promise<number> {
  const controller = new AbortController()
  const stopping = outer === undefined ? controller.signal : AbortSignal.any([controller.signal, outer])
  const release = onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], () => controller.abort())
  try {
    return await run(stopping)
  } finally {
    release()
  }
}

/** Resolves when the signal is aborted. */
export async function stopped(stopping: AbortSignal): Promise<'stopped'> {
  if (!stopping.aborted) await once(stopping, 'abort')
  return 'stopped'
}
