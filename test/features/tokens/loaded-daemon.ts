// Runs the shipped daemon under a steady load of pipelines, with an instance that enforces tokens as its backend. Also runs the shipped token
// commands.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { generate } from '../../support/generate.ts'
import { allScenarios } from '../../../src/simulator/platform/scenarios.ts'
import type { PipelineTruth } from '../../support/truth.ts'
import { Daemon, ProgramProcess, webhookToken } from '../../e2e/daemon.ts'
import { runCommand, type Command } from '../../e2e/run-command.ts'
import { ResendingSender } from '../../e2e/resending-sender.ts'
import { complete, differences } from '../../e2e/truth.ts'
import { isFull } from '../../full.ts'
import { storedBytes } from '../../support/stored-bytes.ts'
import { startInstance, type ObservabilityInstance } from '../../support/observability-instance.ts'

/** Waits until a condition is true. The timeout error names the condition. */
export async function until(holds: () => boolean | Promise<boolean>, what: string, timeout = 180_000): Promise<void> {
  for (const end = Date.now() + timeout; !(await holds());) {
    if (Date.now() > end) throw new Error(`Not within ${timeout} ms: ${what}`)
    await sleep(10)
  }
}

/** The pause between two pipeline families, ms. */
const pause = isFull ? 60 : 150

export class LoadedDaemon {
  readonly instance: ObservabilityInstance
  readonly daemon: Daemon
  readonly file: string
  /** The output of all commands so far. */
  output = ''
  readonly #env: NodeJS.ProcessEnv
  readonly #truths: PipelineTruth[] = []
  readonly #sender: ResendingSender
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>

  private constructor(instance: ObservabilityInstance, daemon: Daemon, file: string, env: NodeJS.ProcessEnv) {
    this.instance = instance
    this.daemon = daemon
    this.file = file
    this.#env = env
    this.#sender = new ResendingSender({ url: daemon.webhooks, token: webhookToken, concurrency: 4 })
    this.#running = this.#load()
  }

  /** Starts the instance and the daemon. As an operator would, it creates the first token before there is a daemon or a store. */
  static async start(): Promise<LoadedDaemon> {
    const instance = closeAfterTest(await startInstance({ hideIds: true }))
    const folder = temporaryFolder()
    const file = path.join(folder, 'token')
    const exporting = { OTEL_EXPORTER_OTLP_ENDPOINT: instance.url, SERVICE_OBSERVABILITY_TOKEN_FILE: file }
    const managing = { PIPESPAN_OBSERVABILITY_URL: instance.url, PIPESPAN_OBSERVABILITY_API_KEY: instance.apiKey }
    const nowhere = { PIPESPAN_STORE_URL: `sqlite:${path.join(folder, 'none.db')}` }
    const first = await runCommand(['tokens', 'create', '--name', 'pipespan', '--target', `file:${file}`], {
      ...exporting,
      ...managing,
      ...nowhere,
    })
    expect(first.code, first.stderr).toBe(0)
    // The timeout is so long that no response comes too late. The daemon would rightly retry a request without a response, but these tests count
    // every export.
    const daemon = await Daemon.start({ ...exporting, OTEL_EXPORTER_OTLP_TIMEOUT: '300000' })
    const world = new LoadedDaemon(instance, daemon, file, { ...daemon.env, ...managing })
    world.output += first.stdout + first.stderr
    onTestFinished(async () => world.#stopLoad())
    return world
  }

  /** Starts a command as a process that can be killed, with the daemon's environment and the API key. */
  begin(...args: readonly string[]): ProgramProcess {
    const program = new ProgramProcess(args, this.#env)
    void program.ended.then(() => (this.output += program.stdout + program.stderr))
    return program
  }

  /** Runs a command until it exits, within this process because that is faster. */
  async command(...args: readonly string[]): Promise<Command> {
    const done = await runCommand(args, this.#env)
    this.output += done.stdout + done.stderr
    return done
  }

  get held(): string {
    return readFileSync(this.file, 'utf8')
  }

  get pipelines(): number {
    return this.#truths.length
  }

  async #load(): Promise<void> {
    for (const { deliveries, pipelines } of generate({ seed: 6, scenarios: allScenarios, pipelines: Infinity })) {
      if (this.#stopping.signal.aborted) return
      await this.#sender.sendAll(deliveries)
      this.#truths.push(...pipelines)
      await sleep(pause, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
    }
  }

  async #stopLoad(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await this.#sender.close()
  }

  /** Stops the load and the daemon. No pipeline may be missing, exported twice or permanently rejected. */
  async settle(): Promise<void> {
    await this.#stopLoad()
    const isComplete = complete(this.#truths)
    await until(() => isComplete(this.instance.spans), 'every pipeline has arrived')
    expect((await this.command('dead-letters', 'list', '--json')).stdout.trim()).toBe('[]')
    expect(await this.daemon.stop()).toEqual({ code: 0, signal: null })
    expect(differences(this.#truths, this.instance.spans)).toEqual([])
    this.expectNoSecrets()
  }

  /** Asserts that no output, journal or store contains a token's value or the API key. */
  expectNoSecrets(): void {
    const { apiKey, issued } = this.instance
    const folders = [path.dirname(this.file), path.dirname(this.daemon.storeFile)]
    const kept = folders.map(folder => storedBytes(folder, this.file))
    const everything = [this.output, this.daemon.output, ...kept].join('\n')
    expect([apiKey, ...issued].filter(secret => everything.includes(secret))).toEqual([])
  }
}
