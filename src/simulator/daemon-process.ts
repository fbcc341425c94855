// Runs the shipped daemon as a child process that is configured only by environment variables.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export interface DaemonProcessOptions {
  /** The main file of the program to run. By default this program's own main file is used. */
  readonly main?: string | undefined
  readonly args: readonly string[]
  /** All environment variables of the process. None are inherited. */
  readonly env: NodeJS.ProcessEnv
}

export type Readiness = 'ready' | 'died' | 'too-late'

/** The main file: main.ts in the folder above src/simulator or, in the bundle, main.js in the folder above the modules. */
const ownMain = fileURLToPath(new URL(`../main${path.extname(import.meta.url)}`, import.meta.url))
/** How many lines of the daemon's output are kept. */
const keptLines = 20
/** How long the daemon may take to stop, in ms. */
const timeoutMs = 25_000

export class DaemonProcess {
  /** Resolves when the process has ended, for any reason. */
  readonly exited: Promise<void>
  readonly #child: ChildProcess
  #lines: string[] = []
  #ended = false

  constructor({ main = ownMain, args, env }: DaemonProcessOptions) {
    // The daemon runs in its own process group, so that Ctrl-C reaches only the parent, which then stops everything in order.
    const child = spawn(process.execPath, [main, ...args], { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    const orphaned = (): void => void child.kill('SIGKILL')
    process.once('exit', orphaned)
    this.exited = new Promise(resolve => {
      child.once('error', error => {
        this.#keep(error.message)
        resolve()
      })
      child.once('close', () => resolve())
    })
    void this.exited.then(() => {
      this.#ended = true
      process.off('exit', orphaned)
    })
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => this.#keep(text))
    }
  }

  get lastLines(): string[] {
    return this.#lines.filter(line => line.trim() !== '')
  }

  /** Waits until `url` responds with status 200. */
  async ready(url: string, timeout: number): Promise<Readiness> {
    const deadline = Date.now() + timeout
    while (Date.now() < deadline) {
      if (this.#ended) return 'died'
      const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined)
      if (answer?.ok === true) return 'ready'
      await sleep(50)
    }
    return 'too-late'
  }

  /** Sends SIGTERM, and then SIGKILL if the process does not exit in time. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    const insist = setTimeout(() => this.#child.kill('SIGKILL'), timeoutMs)
    await this.exited
    clearTimeout(insist)
  }

  #keep(text: string): void {
    const [first = '', ...rest] = text.split('\n')
    const last = this.#lines.pop() ?? ''
    this.#lines = [...this.#lines, last + first, ...rest].slice(-keptLines)
  }
}

/**
 * The range of ports. It is below the ports that systems assign automatically (from 32,768 on Linux, from 49,152 elsewhere), and above the usual
 * service ports.
 */
const [firstPort, ports] = [20_000, 10_000]

/**
 * Returns free ports on the loopback address. They are from a range that no system assigns automatically, so that no other program takes one in the
 * meantime.
 */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>()
  while (found.size < count) {
    const port = firstPort + randomInt(ports)
    if (!found.has(port) && (await isFree(port))) found.add(port)
  }
  return [...found]
}

/** Returns the preferred port on the loopback address if it is free, otherwise another port. */
export async function freePort(preferred: number): Promise<number> {
  if (await isFree(preferred)) return preferred
  const [other = 0] = await freePorts(1)
  return other
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false
    throw error
  } finally {
    await new Promise(resolve => server.close(resolve))
  }
}
