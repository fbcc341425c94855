// Runs a command until it is stopped: by Ctrl-C or another signal, or by its caller.
import { once } from 'node:events'
import { exitCode } from '../lib/terminal.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * A signal that comes so soon after the first, ms, is the same one: at Ctrl-C the terminal sends it to `npm run` and to its program, and npm passes it on
 * to the program again.
 */
export const sameSignalWithinMs = 500

/** `run` gets an AbortSignal, which the first signal aborts, or `outer`. The second signal ends the process at once; what it has started is then killed on the way out. */
export async function untilStopped(
  outer: AbortSignal | undefined,
  run: (stopping: AbortSignal) => Promise<number>,
): Promise<number> {
  const controller = new AbortController()
  const stopping = outer === undefined ? controller.signal : AbortSignal.any([controller.signal, outer])
  let since: number | undefined
  const onSignal = (): void => {
    since ??= performance.now()
    if (stopping.aborted && performance.now() - since >= sameSignalWithinMs) process.exit(exitCode.failed)
    controller.abort()
  }
  for (const name of signals) process.on(name, onSignal)
  try {
    return await run(stopping)
  } finally {
    for (const name of signals) process.off(name, onSignal)
  }
}

/** Resolves when it is aborted. */
export async function stopped(stopping: AbortSignal): Promise<'stopped'> {
  if (!stopping.aborted) await once(stopping, 'abort')
  return 'stopped'
}
