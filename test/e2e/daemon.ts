// The shipped daemon as tests start it: a child process on free ports with a folder of its own. All of its output is kept. It can be stopped by a signal,
// killed, and started again on the same store. Also runs the command line beside it.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { compiled, roomFromTheStart, shipped } from '../shipped.ts'
import { runCommand, type Command } from './run-command.ts'

export interface LogLine {
  readonly level: number
  readonly msg: string
  readonly [fact: string]: unknown
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** All variables of a process: it inherits none that would configure it. */
function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: tmpdir(), TZ: 'UTC', NODE_COMPILE_CACHE: compiled, ...env }
}

/** A process of the program, with its output as text and its end as a promise. */
export class ProgramProcess {
  readonly ended: Promise<Ended>
  readonly child: ChildProcess
  stdout = ''
  stderr = ''
  readonly #log: LogLine[] = []
  /** The index in `stderr` up to which its output is in `#log`. */
  #logEnd = 0

  /** `openFiles`: maximum number of files that it may open, if the system's limit does not apply. */
  constructor(args: readonly string[], env: NodeJS.ProcessEnv, nodeArgs: readonly string[] = [], openFiles?: number) {
    const [command, before] =
      openFiles === undefined
        ? [process.execPath, []]
        : ['/bin/sh', ['-c', `ulimit -n ${openFiles}; exec "$0" "$@"`, process.execPath]]
    const child = spawn(command, [...before, ...roomFromTheStart, ...nodeArgs, shipped, ...args], {
      env: environment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child = child
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (this.stdout += chunk))
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (this.stderr += chunk))
    this.ended = new Promise(resolve => child.once('close', (code, signal) => resolve({ code, signal })))
    const orphaned = (): void => void child.kill('SIGKILL')
    process.once('exit', orphaned)
    void this.ended.then(() => process.off('exit', orphaned))
  }

  /** The lines that it has logged so far. Lines that are not JSON are left out. */
  get log(): readonly LogLine[] {
    // This is called after each piece of output, so parsed lines are kept.
    const end = this.stderr.lastIndexOf('\n') + 1
    for (const line of this.stderr.slice(this.#logEnd, end).split('\n')) {
      if (line.startsWith('{')) this.#log.push(JSON.parse(line) as LogLine)
    }
    this.#logEnd = Math.max(this.#logEnd, end)
    return this.#log
  }

  /** Resolves with the first log line for which `holds`. Rejects if the process ends, or after `timeout` ms. */
  async logged(holds: string | ((line: LogLine) => boolean), timeout = 180_000): Promise<LogLine> {
    const isIt = typeof holds === 'string' ? ({ msg }: LogLine) => msg.includes(holds) : holds
    return new Promise((resolve, reject) => {
      const fail = (why: string): void => {
        settle()
        reject(new Error(`${why}: ${String(holds)}\n${this.stderr.slice(-4_000)}`))
      }
      const look = (): void => {
        const line = this.log.find(isIt)
        if (line === undefined) return
        settle()
        resolve(line)
      }
      const timer = setTimeout(() => fail(`Not logged within ${timeout} ms`), timeout)
      const settle = (): void => {
        clearTimeout(timer)
        this.child.stderr?.off('data', look)
      }
      this.child.stderr?.on('data', look)
      void this.ended.then(() => {
        look()
        fail('The process ended and did not say')
      })
      look()
    })
  }
}

/** Runs a command to its end. */
export async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Ended & { stdout: string; stderr: string }> {
  const program = new ProgramProcess(args, env)
  const ended = await program.ended
  return { ...ended, stdout: program.stdout, stderr: program.stderr }
}

export const webhookToken = 'a-token-that-only-tests-know'

export class Daemon {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  /** The process of this life. */
  process: ProgramProcess
  /** The output of earlier lives. */
  #past = ''
  #url = ''
  #adminUrl = ''
  readonly #nodeArgs: readonly string[]
  readonly #openFiles: number | undefined

  private constructor(folder: string, env: NodeJS.ProcessEnv, nodeArgs: readonly string[], openFiles?: number) {
    this.#openFiles = openFiles
    this.folder = folder
    this.env = {
      PIPESPAN_LISTEN: '127.0.0.1:0',
      PIPESPAN_ADMIN_LISTEN: '127.0.0.1:0',
      PIPESPAN_STORE_URL: `sqlite:${path.join(folder, 'store', 'pipespan.db')}`,
      PIPESPAN_WEBHOOK_TOKEN: webhookToken,
      PIPESPAN_SETTLE: '200ms',
      PIPESPAN_LOG_FORMAT: 'json',
      SERVICE_OBSERVABILITY_EXPORT: 'traces',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
      ...env,
    }
    this.#nodeArgs = nodeArgs
    this.process = new ProgramProcess(['serve'], this.env, nodeArgs, openFiles)
  }

  /** Starts a daemon that ends with the test, and waits until it is ready. An undefined variable is left out. */
  static async start(
    env: NodeJS.ProcessEnv = {},
    nodeArgs: readonly string[] = [],
    openFiles?: number,
  ): Promise<Daemon> {
    const daemon = closeAfterTest(new Daemon(temporaryFolder(), env, nodeArgs, openFiles))
    await daemon.#ready()
    return daemon
  }

  /** Starts a daemon for all tests of a group: `beforeAll` returns its `dispose`. */
  static async startForAll(env: NodeJS.ProcessEnv = {}, nodeArgs: readonly string[] = []): Promise<Daemon> {
    const daemon = new Daemon(mkdtempSync(path.join(tmpdir(), 'pipespan-e2e-')), env, nodeArgs)
    await daemon.#ready()
    return daemon
  }

  /** Ends the daemon and removes its files. */
  async dispose(): Promise<void> {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Starts a daemon without waiting for anything, for tests in which it must not become ready. */
  static launch(env: NodeJS.ProcessEnv = {}, nodeArgs: readonly string[] = [], openFiles?: number): Daemon {
    return closeAfterTest(new Daemon(temporaryFolder(), env, nodeArgs, openFiles))
  }

  /** The URL without `/webhooks` and with the base path. */
  get url(): string {
    return this.#url
  }

  get webhooks(): string {
    return `${this.#url}/webhooks`
  }

  get adminUrl(): string {
    return this.#adminUrl
  }

  /** The whole output of all its lives. */
  get output(): string {
    return this.#past + this.process.stdout + this.process.stderr
  }

  /** The store's main file. */
  get storeFile(): string {
    return path.join(this.folder, 'store', 'pipespan.db')
  }

  /** Its current memory, and its maximum so far, bytes. Linux only. */
  memory(): { now: number; peak: number } {
    const status = readFileSync(`/proc/${this.process.child.pid}/status`, 'utf8')
    const bytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024
    return { now: bytes('VmRSS'), peak: bytes('VmHWM') }
  }

  signal(name: NodeJS.Signals): void {
    this.process.child.kill(name)
  }

  /** Sends it a stop signal and waits for its end. */
  async stop(): Promise<Ended> {
    this.signal('SIGTERM')
    return this.process.ended
  }

  /** Sends SIGKILL: it ends at once and writes nothing more. */
  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.process.ended
  }

  /** Starts a next life on the same store, with these variables changed. */
  async restart(env: NodeJS.ProcessEnv = {}): Promise<void> {
    Object.assign(this.env, env)
    await this.#next()
    await this.#ready()
  }

  /** Waits until this life is ready. Resolves to false if it ends before. */
  async lives(): Promise<boolean> {
    return this.#ready().then(
      () => true,
      async (error: unknown) => {
        if (this.process.child.exitCode === null && this.process.child.signalCode === null) throw error
        await this.process.ended
        return false
      },
    )
  }

  /** Starts a next life on the same store, with these variables changed. Resolves to true if it becomes ready. */
  async revive(env: NodeJS.ProcessEnv): Promise<boolean> {
    Object.assign(this.env, env)
    await this.#next()
    return this.lives()
  }

  /** Starts a next life on the same store, with these variables changed, and kills it after this many ms, whether it is ready or not. */
  async stillborn(ms: number, env: NodeJS.ProcessEnv = {}): Promise<void> {
    Object.assign(this.env, env)
    await this.#next()
    await sleep(ms)
    await this.kill()
  }

  /** Runs another command with this daemon's variables, even while the daemon runs. */
  async command(...args: string[]): Promise<Command> {
    return runCommand(args, this.env)
  }

  /** Posts one delivery, by default of a pipeline event. */
  async post(body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.webhooks, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-service-event': 'Pipeline Hook',
        'x-service-token': webhookToken,
        ...headers,
      },
      body: typeof body === 'string' ? body : Buffer.from(body),
    })
  }

  async #next(): Promise<void> {
    await this.process.ended
    this.#past += this.process.stdout + this.process.stderr
    this.process = new ProgramProcess(['serve'], this.env, this.#nodeArgs, this.#openFiles)
  }

  async #ready(): Promise<void> {
    const { webhooks, admin } = await this.process.logged('ready')
    this.#url = String(webhooks).replace(/\/webhooks$/, '')
    this.#adminUrl = String(admin)
    for (let ready = false; !ready;) {
      const answer = await fetch(`${this.#adminUrl}/readyz`).catch(() => undefined)
      ready = answer?.ok === true
      if (ready) continue
      const { exitCode, signalCode } = this.process.child
      if (exitCode !== null || signalCode !== null) throw new Error('The process ended before it was ready')
      await sleep(20)
    }
  }
}
