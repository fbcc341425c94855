// The processes a benchmark measures: the daemon as it ships, the bare server, the counting backend; each stopped at the end.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import path from 'node:path'

export interface Running {
  readonly port: number
  readonly child: ChildProcess
  stop(): Promise<void>
}

/** Starts one of this folder's servers; it prints its port. */
export async function startServer(file: string): Promise<Running> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, file)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { port: Number(line.toString()), child, stop: async () => stop(child) }
}

export interface DaemonOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Of the OTLP backend. */
  readonly backend?: number
  readonly folder?: string
}

export interface RunningDaemon extends Running {
  readonly folder: string
  /** Milliseconds from the start of the process to its first good answer on /readyz. */
  readonly readyAfter: number
}

/** Starts the built daemon (`npm run build`) on a store of its own. */
export async function startDaemon(options: DaemonOptions = {}): Promise<RunningDaemon> {
  const folder = options.folder ?? mkdtempSync(path.join(tmpdir(), 'pipespan-bench-'))
  const main = path.join(import.meta.dirname, '..', 'dist', 'main.js')
  if (!existsSync(main)) throw new Error('dist/main.js is missing. Run `npm run build` first.')
  const [port, admin] = [20_000 + Math.floor(Math.random() * 20_000), 40_000 + Math.floor(Math.random() * 20_000)]
  const began = performance.now()
  const child = spawn(process.execPath, [main, 'serve'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH,
      PIPESPAN_LISTEN: `127.0.0.1:${port}`,
      PIPESPAN_ADMIN_LISTEN: `127.0.0.1:${admin}`,
      PIPESPAN_STORE_URL: `sqlite:${path.join(folder, 'pipespan.db')}`,
      PIPESPAN_WEBHOOK_TOKEN: token,
      PIPESPAN_LOG_LEVEL: 'error',
      PIPESPAN_SETTLE: '0s',
      SERVICE_OBSERVABILITY_EXPORT: 'traces',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${options.backend ?? 9}`,
      ...options.env,
    },
  })
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    if (answer?.ok === true) break
    if (child.exitCode !== null) throw new Error('the daemon ended before it was ready')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  return {
    port,
    child,
    folder,
    readyAfter: performance.now() - began,
    stop: async () => {
      await stop(child)
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}

export const token = 'only-for-this-benchmark'

export function webhookHeaders(event: string, n: number): string[] {
  return [
    `x-service-event: ${event}`,
    `x-service-token: ${token}`,
    'x-service-instance: https://git.example.com',
    `idempotency-key: 7f0c2d1e-5b8a-4c7e-9d3f-${String(n).padStart(12, '0')}`,
  ]
}

/** Resident memory of a process, bytes. */
export async function residentBytes(pid: number): Promise<number> {
  const { readFile } = await import('node:fs/promises')
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const killer = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await ended
  clearTimeout(killer)
}
