// Runs a command until it is stopped: by Ctrl-C or another signal, or by its caller.
import { once } from 'node:events'
import { exitCode } from '../lib/terminal.ts'

/**
 * A further signal within this many ms of the first one is treated as the same signal. On Ctrl-C the terminal sends the signal to `npm run` and to
 * its program, and npm forwards it to the program again.
 */
const sameSignalWithinMs = 500

/** Calls back for each signal that requests a stop. A second signal ends the process immediately. Returns a function that removes the listeners. */
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

/**
 * Runs a command. The first signal, or `outer`, aborts the AbortSignal of `run`. A second signal ends the process immediately and kills the processes
 * that it has started.
 */
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

export async function stopped(stopping: AbortSignal): Promise<'stopped'> {
  if (!stopping.aborted) await once(stopping, 'abort')
  return 'stopped'
}
