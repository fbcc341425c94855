// Runs a command until it is stopped: by Ctrl-C or another signal, or by its caller.
import { once } from 'node:events'
import { exitCode } from './terminal.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** `run` gets an AbortSignal, which the first signal aborts, or `outer`. The second signal ends the process at once; what it has started is then killed on the way out. */
export async function untilStopped(
  outer: AbortSignal | undefined,
  run: (stopping: AbortSignal) => Promise<number>,
): Promise<number> {
  const controller = new AbortController()
  const stopping = outer === undefined ? controller.signal : AbortSignal.any([controller.signal, outer])
  const onSignal = (): void => {
    if (stopping.aborted) process.exit(exitCode.failed)
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
