// A complete setup for tests of the doctor: a daemon with a simulated platform, an OTLP receiver and an observability instance. Tests break it in one
// way at a time, and run `pipespan doctor`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished } from 'vitest'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { loadConfig } from '../../src/daemon/configuration/load.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import { restJson } from '../support/rest-faults.ts'
import { runCommand } from '../e2e/run-command.ts'
import { silentLog } from '../../src/lib/log.ts'
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts'
import { startInstance, type ObservabilityInstance } from '../support/observability-instance.ts'
import type { RestReply } from '../../src/simulator/platform/rest-replies.ts'
import { features } from '../../src/features.ts'
import { hooksOf, type RestHook } from '../support/rest-hooks.ts'

export interface Reported {
  readonly check: string
  readonly level: string
  readonly what: string
  readonly remedy?: string
}

const project = '301'
export const signingToken = `whsec_${Buffer.alloc(32, 5).toString('base64')}`

export class DoctorWorld {
  folder!: string
  receiver!: OtlpReceiver
  platform!: RestApi
  instance!: ObservabilityInstance
  daemon!: Daemon
  hook!: RestHook
  /** The doctor's environment variables. */
  env: Record<string, string> = {}
  /** By how many ms the platform's clock is ahead. */
  clockOffset = 0
  /** The daemon's environment variables. */
  #usual: Record<string, string> = {}

  async open(): Promise<void> {
    this.folder = mkdtempSync(path.join(tmpdir(), 'pipespan-doctor-'))
    this.receiver = await OtlpReceiver.start()
    this.platform = await RestApi.start({ state: new PlatformState(), now: () => Date.now() + this.clockOffset })
    this.instance = await startInstance({ enforcement: false })
    const [port = 0, adminPort = 0] = await freePorts(2)
    this.#usual = {
      PIPESPAN_LISTEN: `127.0.0.1:${port}`,
      PIPESPAN_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
      PIPESPAN_STORE_URL: `sqlite:${path.join(this.folder, 'p.db')}`,
      PIPESPAN_WEBHOOK_TOKEN: 'a-webhook-token',
      PIPESPAN_PLATFORM_URL: this.platform.url,
      PIPESPAN_PLATFORM_TOKEN: 'a-platform-token',
      PIPESPAN_POLL_PROJECTS: project,
      // The request budget is large, because the doctor runs of all tests send requests to the same platform.
      PIPESPAN_PLATFORM_BUDGET: '100000',
      PIPESPAN_PUBLIC_URL: 'https://pipespan.example.com',
      PIPESPAN_OBSERVABILITY_URL: this.instance.url,
      PIPESPAN_OBSERVABILITY_API_KEY: this.instance.apiKey,
      SERVICE_OBSERVABILITY_EXPORT: 'traces',
      OTEL_EXPORTER_OTLP_ENDPOINT: this.receiver.url,
    }
    await this.#startWith(this.#usual)
  }

  async close(): Promise<void> {
    await this.daemon.stop(0)
    await Promise.all([this.receiver.close(), this.platform.close(), this.instance.close()])
    rmSync(this.folder, { recursive: true })
  }

  /** Undoes what the previous test has broken. */
  repair(): void {
    this.clockOffset = 0
    this.env = { ...this.#usual }
    this.instance.enforced = false
    this.receiver.demandToken(undefined)
    this.hook = { id: 17, url: 'https://pipespan.example.com/webhooks', owner: { project: Number(project) } }
    hooksOf(this.platform).hooks.splice(0, Infinity, this.hook)
    this.platform.misbehave = ({ path: asked }) => (asked === '/user' ? restJson({ id: 1 }) : undefined)
  }

  /** Restarts the setup after a test that leaves something in the store. */
  restartAfterTest(): void {
    onTestFinished(async () => {
      await this.close()
      await this.open()
    })
  }

  /** Restarts the daemon; by default, with its usual environment variables. */
  async restartDaemon(variables = this.#usual): Promise<void> {
    await this.daemon.stop(0)
    await this.#startWith(variables)
  }

  async run(...args: string[]): Promise<{ code: number; text: string }> {
    const { code, stdout, stderr } = await runCommand(['doctor', ...args], this.env)
    return { code, text: stdout + stderr }
  }

  /** Runs the doctor, and returns the exit code and all checks that are not fine. */
  async examined(): Promise<{ code: number; reported: Reported[] }> {
    const { code, text } = await this.run('--json')
    const { findings } = JSON.parse(text) as { findings: Reported[] }
    return { code, reported: findings.filter(({ level }) => level === 'warning' || level === 'failure') }
  }

  /** Expects exactly these checks not to be fine, and the exit code to match the worst of them. */
  async finds(...reported: Partial<Reported>[]): Promise<void> {
    const code = reported.some(({ level }) => level === 'failure') ? 2 : 1
    expect(await this.examined()).toMatchObject({ code, reported })
  }

  /** Makes the platform respond to a path with the given reply. */
  answering(wanted: RegExp, reply: () => RestReply): void {
    const before = this.platform.misbehave
    this.platform.misbehave = (request, real) => (wanted.test(request.path) ? reply() : before(request, real))
  }

  async #startWith(variables: Record<string, string>): Promise<void> {
    const loaded = loadConfig({ env: variables, profiles, features })
    if (!loaded.ok) throw new Error(loaded.faults.map(({ what }) => what).join())
    this.daemon = await startDaemon({ config: loaded.config, features, log: silentLog() })
  }
}

/** Opens the setup before all tests of a file, and repairs it before each test. */
export function doctorWorld(): DoctorWorld {
  const world = new DoctorWorld()
  beforeAll(async () => world.open())
  afterAll(async () => world.close())
  beforeEach(() => world.repair())
  return world
}

export function failure(check: string, remedy: string, what?: RegExp): Partial<Reported> {
  return { check, level: 'failure', remedy, ...(what && { what: expect.stringMatching(what) as string }) }
}

export function warning(check: string, remedy: string, what?: RegExp): Partial<Reported> {
  return { ...failure(check, remedy, what), level: 'warning' }
}
