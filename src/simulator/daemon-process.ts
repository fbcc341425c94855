// Runs the shipped daemon as a child process, configured by variables only.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export interface DaemonProcessOptions {
  /** The program's main file. Default: this program's own. */
  readonly main?: string | undefined
  readonly args: readonly string[]
  /** All variables of the process; it inherits none. */
  readonly env: NodeJS.ProcessEnv
}

export type Readiness = 'ready' | 'died' | 'too-late'

/** main.ts beside src/simulator, main.js beside the folder of the bundle. */
const ownMain = fileURLToPath(new URL(`../main${path.extname(import.meta.url)}`, import.meta.url))
/** Number of lines of its output that are remembered. */
const keptLines = 20
/** Timeout for its stop, ms. */
const timeoutMs = 25_000

export class DaemonProcess {
  /** Resolves when it has ended, for whatever reason. */
  readonly exited: Promise<void>
  readonly #child: ChildProcess
  #lines: string[] = []
  #ended = false

  constructor({ main = ownMain, args, env }: DaemonProcessOptions) {
    // A process group of its own, so that Ctrl-C reaches only the parent, which stops everything in order.
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

  /** The last lines that the process wrote. */
  get lastLines(): string[] {
    return this.#lines.filter(line => line.trim() !== '')
  }

  /** Waits until `url` answers 200. */
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

  /** Sends SIGTERM, and SIGKILL if it does not end in time. */
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

/** Below the ports that systems assign by themselves (from 32,768 on Linux, from 49,152 elsewhere), and above the ports that services usually have. */
const [firstPort, ports] = [20_000, 10_000]

/** Free ports of the loopback address, from a range that no system assigns by itself, so that no other program that starts to listen meanwhile gets one. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>()
  while (found.size < count) {
    const port = firstPort + randomInt(ports)
    if (!found.has(port) && (await isFree(port))) found.add(port)
  }
  return [...found]
}

/** This port of the loopback address if it is free, otherwise another one. */
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
