// Starts the processes that take part in a benchmark: the shipped daemon, the bare server and the counting backend. Each is stopped at the end.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { token } from './load.ts'

export interface Running extends AsyncDisposable {
  readonly port: number
  readonly pid: number
}

/** Starts one of this folder's servers. The server prints its port. */
export async function startServer(file: 'bare-server.ts' | 'sink.ts'): Promise<Running> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, file)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.add(child)
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    port: Number(line.toString()),
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: async () => end(child, 'SIGKILL'),
  }
}

/** A temporary folder that is removed when it is disposed of. */
export function temporaryFolder(parent = tmpdir()): Disposable & { readonly path: string } {
  const folder = mkdtempSync(path.join(parent, 'pipespan-bench-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  return {
    path: folder,
    [Symbol.dispose]: () => {
      process.off('exit', remove)
      remove()
    },
  }
}

/** The name of the daemon's SQLite file in its folder. */
export const storeFile = 'pipespan.db'

export interface DaemonOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Port of the OTLP backend. By default, a port on which nothing listens. */
  readonly backend?: number
  /** The folder of the daemon's store. By default, a new folder that is removed when the daemon is disposed of. */
  readonly folder?: string
  /** Whether to run the built program or its sources. The default is the build. */
  readonly from?: 'build' | 'sources'
  /** The main file of another build to run instead. */
  readonly main?: string
}

export interface RunningDaemon extends Running {
  /** The port of the admin listener. */
  readonly admin: number
  /** The path of the daemon's SQLite file. */
  readonly file: string
  /** Time from starting the process to its first successful response on /readyz, ms. */
  readonly readyAfter: number
  /**
   * Stops the daemon as an orchestrator would. If this is not called, the daemon is killed at the end. Rejects if the daemon does not exit within 60
   * s.
   */
  stop(): Promise<void>
}

/**
 * Starts the daemon, by default as built (`npm run build`), with two changes to its default settings: only traces are exported, and finished
 * pipelines are exported without a delay.
 */
export async function startDaemon(options: DaemonOptions = {}): Promise<RunningDaemon> {
  const main =
    options.main ?? path.join(import.meta.dirname, '..', options.from === 'sources' ? 'src/main.ts' : 'dist/main.js')
  if (!existsSync(main)) throw new Error('dist/main.js is missing. Run `npm run build` first.')
  const own = options.folder === undefined ? temporaryFolder() : undefined
  const file = path.join(own?.path ?? options.folder ?? '', storeFile)
  const [port, admin] = [await freePort(), await freePort()]
  const began = performance.now()
  const child = spawn(process.execPath, [main, 'serve'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH,
      PIPESPAN_LISTEN: `127.0.0.1:${port}`,
      PIPESPAN_ADMIN_LISTEN: `127.0.0.1:${admin}`,
      PIPESPAN_STORE_URL: `sqlite:${file}`,
      PIPESPAN_WEBHOOK_TOKEN: token,
      PIPESPAN_LOG_LEVEL: 'error',
      PIPESPAN_SETTLE: '0s',
      SERVICE_OBSERVABILITY_EXPORT: 'traces',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${options.backend ?? 9}`,
      ...options.env,
    },
  })
  children.add(child)
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    if (answer?.ok === true) break
    if (child.exitCode !== null) throw new Error('the daemon ended before it was ready')
    await sleep(5)
  }
  return {
    port,
    admin,
    pid: child.pid ?? 0,
    file,
    readyAfter: performance.now() - began,
    stop: async () => end(child, 'SIGTERM'),
    [Symbol.asyncDispose]: async () => {
      await end(child, 'SIGKILL')
      own?.[Symbol.dispose]()
    },
  }
}

export interface Counts {
  readonly requests: number
  readonly pipelines: number
  readonly bytes: number
}

/** Returns the counts of the counting backend. */
export async function countsOf(sink: Running): Promise<Counts> {
  const answer = await fetch(`http://127.0.0.1:${sink.port}/counts`)
  return (await answer.json()) as Counts
}

/** The resident memory of a process, bytes. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024
}

/** The processor time in ms that all threads of a process have used so far. Linux counts it in ticks of 10 ms. */
export function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The process name may contain any character, including parentheses, so fields are counted from the last parenthesis. Fields 14 and 15 in proc(5)
  // are user and system time.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

const children = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** Maximum time in ms that a process may take to exit after SIGTERM. */
const timeoutMs = 60_000

async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  const since = performance.now()
  const killer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  const [code, endedBy] = (await ended) as [number | null, NodeJS.Signals | null]
  clearTimeout(killer)
  children.delete(child)
  if (signal === 'SIGKILL' || code === 0) return
  const isLate = performance.now() - since >= timeoutMs
  const what = isLate ? 'had to be killed after 60 s' : `ended with ${endedBy ?? String(code)} after SIGTERM`
  throw new Error(`the daemon ${what}`)
}
