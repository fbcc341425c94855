// Rotates the ingest token of the demo's daemon with the shipped command, as a daily job would.
import { setTimeout as sleep } from 'node:timers/promises'
import { DaemonProcess, type DaemonProcessOptions } from './daemon-process.ts'

interface RotationsOptions extends Omit<DaemonProcessOptions, 'args'> {
  /** The file that the daemon reads its token from. */
  readonly file: string
  /** Called with each line that the command prints. */
  readonly onLine: (line: string) => void
}

/** ms */
const firstAfter = 20_000
const every = 600_000

/** Returns how to stop it. */
export function startRotations({ file, onLine, ...program }: RotationsOptions): () => Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  const args = ['tokens', 'rotate', '--name', 'pipespan', '--target', `file:${file}`, '--adopt', '--grace', '1m']
  const rotate = async (): Promise<void> => {
    const command = new DaemonProcess({ ...program, args })
    const stop = (): void => void command.stop()
    signal.addEventListener('abort', stop, { once: true })
    await command.exited
    signal.removeEventListener('abort', stop)
    if (!signal.aborted) command.lastLines.forEach(onLine)
  }
  const run = async (): Promise<void> => {
    for (let pause = firstAfter; await passed(pause, signal); pause = every) await rotate()
  }
  const running = run()
  return async () => {
    stopping.abort()
    await running
  }
}

/** False: aborted before. */
async function passed(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal }).catch(() => false)
}
