// Starts the shipped daemon for tests, as a child process on free ports with its own folder. All of its output is kept. The daemon can be stopped by
// a signal, killed, and restarted on the same store. Also runs the program's commands with the same environment variables.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { compiled, semiSpaceArguments, shipped } from '../shipped.ts'
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

/** Returns the environment of a process. It inherits no variable that would configure Pipespan. */
function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: tmpdir(), TZ: 'UTC', NODE_COMPILE_CACHE: compiled, ...env }
}

/** A process of the program, with its output as a string and a promise for its exit. */
export class ProgramProcess {
  readonly ended: Promise<Ended>
  readonly child: ChildProcess
  stdout = ''
  stderr = ''
  readonly #log: LogLine[] = []
  /** How much of `stderr` has already been parsed into `#log`. */
  #logEnd = 0

  /** `openFiles` limits the number of open files of the process. By default the system's limit applies. */
  constructor(args: readonly string[], env: NodeJS.ProcessEnv, nodeArgs: readonly string[] = [], openFiles?: number) {
    const [command, before] =
      openFiles === undefined
        ? [process.execPath, []]
        : ['/bin/sh', ['-c', `ulimit -n ${openFiles}; exec "$0" "$@"`, process.execPath]]
    const child = spawn(command, [...before, ...semiSpaceArguments, ...nodeArgs, shipped, ...args], {
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

  /** Returns the lines that the process has logged so far. Lines that are not JSON are skipped. */
  get log(): readonly LogLine[] {
    // Parsed lines are cached, because this getter is called after each chunk of output.
    const end = this.stderr.lastIndexOf('\n') + 1
    for (const line of this.stderr.slice(this.#logEnd, end).split('\n')) {
      if (line.startsWith('{')) this.#log.push(JSON.parse(line) as LogLine)
    }
    this.#logEnd = Math.max(this.#logEnd, end)
    return this.#log
  }

  /** Resolves with the first log line that `holds` matches. Rejects if the process exits, or after `timeout` ms. */
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

/** Runs a command until it exits. */
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
  /** The daemon's current process. Each restart creates a new one. */
  process: ProgramProcess
  /** The output of the daemon's earlier processes. */
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

  /** Starts a daemon and waits until it is ready. It is stopped when the test ends. A variable with the value undefined is removed. */
  static async start(
    env: NodeJS.ProcessEnv = {},
    nodeArgs: readonly string[] = [],
    openFiles?: number,
  ): Promise<Daemon> {
    const daemon = closeAfterTest(new Daemon(temporaryFolder(), env, nodeArgs, openFiles))
    await daemon.#ready()
    return daemon
  }

  /** Starts a daemon for all tests of a group. `beforeAll` must return its `dispose`. */
  static async startForAll(env: NodeJS.ProcessEnv = {}, nodeArgs: readonly string[] = []): Promise<Daemon> {
    const daemon = new Daemon(mkdtempSync(path.join(tmpdir(), 'pipespan-e2e-')), env, nodeArgs)
    await daemon.#ready()
    return daemon
  }

  /** Stops the daemon and deletes its files. */
  async dispose(): Promise<void> {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Starts a daemon without waiting until it is ready, for tests in which it must not become ready. */
  static launch(env: NodeJS.ProcessEnv = {}, nodeArgs: readonly string[] = [], openFiles?: number): Daemon {
    return closeAfterTest(new Daemon(temporaryFolder(), env, nodeArgs, openFiles))
  }

  /** Returns the webhook listener's URL, with the base path but without `/webhooks`. */
  get url(): string {
    return this.#url
  }

  get webhooks(): string {
    return `${this.#url}/webhooks`
  }

  get adminUrl(): string {
    return this.#adminUrl
  }

  /** Returns the output of all processes of this daemon. */
  get output(): string {
    return this.#past + this.process.stdout + this.process.stderr
  }

  /** Returns the path of the store's main file. */
  get storeFile(): string {
    return path.join(this.folder, 'store', 'pipespan.db')
  }

  /** Returns the daemon's current and peak memory in bytes. Linux only. */
  memory(): { now: number; peak: number } {
    const status = readFileSync(`/proc/${this.process.child.pid}/status`, 'utf8')
    const bytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024
    return { now: bytes('VmRSS'), peak: bytes('VmHWM') }
  }

  signal(name: NodeJS.Signals): void {
    this.process.child.kill(name)
  }

  /** Sends the daemon a stop signal and waits until it exits. */
  async stop(): Promise<Ended> {
    this.signal('SIGTERM')
    return this.process.ended
  }

  /** Sends SIGKILL: the process dies at once and writes nothing more. */
  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.process.ended
  }

  /** Starts a new process on the same store, with these variables changed, and waits until it is ready. */
  async restart(env: NodeJS.ProcessEnv = {}): Promise<void> {
    Object.assign(this.env, env)
    await this.#next()
    await this.#ready()
  }

  /** Waits until the current process is ready. Resolves to false if it exits first. */
  async becomesReady(): Promise<boolean> {
    return this.#ready().then(
      () => true,
      async (error: unknown) => {
        if (this.process.child.exitCode === null && this.process.child.signalCode === null) throw error
        await this.process.ended
        return false
      },
    )
  }

  /** Starts a new process on the same store, with these variables changed. Resolves to true if it becomes ready. */
  async startAgain(env: NodeJS.ProcessEnv): Promise<boolean> {
    Object.assign(this.env, env)
    await this.#next()
    return this.becomesReady()
  }

  /** Starts a new process on the same store, with these variables changed, and kills it after this many ms, ready or not. */
  async startAndKill(ms: number, env: NodeJS.ProcessEnv = {}): Promise<void> {
    Object.assign(this.env, env)
    await this.#next()
    await sleep(ms)
    await this.kill()
  }

  /** Runs another command with the daemon's environment variables. The daemon may be running. */
  async command(...args: string[]): Promise<Command> {
    return runCommand(args, this.env)
  }

  /** Posts a delivery to the daemon. By default it is a pipeline event. */
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
