// Runs a command until it is stopped: by Ctrl-C or another signal, or by its caller.
import { once } from 'node:events'
import { exitCode } from '../lib/terminal.ts'

/**
 * A signal that comes so soon after the first, ms, is the same one: at Ctrl-C the terminal sends it to `npm run` and to its program, and npm passes it on
 * to the program again.
 */
const sameSignalWithinMs = 500

/** Calls back with each signal that asks for a stop; a second one exits at once. Returns what ends that. */
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

/** `run` gets an AbortSignal, which the first signal aborts, or `outer`. The second signal ends the process at once; what it has started is then killed on the way out. */
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

/** Resolves when it is aborted. */
export async function stopped(stopping: AbortSignal): Promise<'stopped'> {
  if (!stopping.aborted) await once(stopping, 'abort')
  return 'stopped'
}
