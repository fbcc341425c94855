// The token commands from the command line in, beside an instance, with a folder for the token and the store.
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { expect } from 'vitest'
import { runProgram } from '../../src/cli/program.ts'
import { temporaryFolder } from '../e2e/daemon.ts'
import { startInstance, type ObservabilityInstance } from './stand-ins/observability-instance.ts'

export interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface CommandWorld {
  readonly instance: ObservabilityInstance
  readonly folder: string
  /** The token file of the configuration and of `rotate`. */
  file: string
  /** All variables of the commands. */
  env: Record<string, string>
  /** Runs the command line; whatever happens, no secret is said. */
  pipespan(...args: readonly string[]): Promise<Said>
  /** The arguments of a rotation of `file`. */
  rotate(...more: readonly string[]): readonly string[]
}

/** Secrets that tests plant besides. */
export const planted = { key: 'a-wrong-key', token: 'a-dead-token' }

export async function openCommandWorld(): Promise<CommandWorld> {
  const instance = await startInstance()
  const folder = temporaryFolder()
  const file = path.join(folder, 'token')
  const world: CommandWorld = {
    instance,
    folder,
    file,
    env: {
      PIPESPAN_OBSERVABILITY_URL: instance.url,
      PIPESPAN_OBSERVABILITY_API_KEY: instance.apiKey,
      OTEL_EXPORTER_OTLP_ENDPOINT: instance.url,
      SERVICE_OBSERVABILITY_TOKEN_FILE: file,
      PIPESPAN_STORE_URL: `sqlite:${path.join(folder, 'store', 'pipespan.db')}`,
    },
    pipespan: async (...args) => {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()]
      const code = await runProgram(args, { stdout, stderr, env: world.env })
      const text = (stream: PassThrough) => ((stream.read() as Buffer | null) ?? '').toString().trimEnd()
      const said = { code, out: text(stdout), err: text(stderr) }
      const secrets = [instance.apiKey, instance.viewerKey, planted.key, planted.token, ...instance.issued]
      expect(secrets.filter(secret => `${said.out}${said.err}`.includes(secret))).toEqual([])
      return said
    },
    rotate: (...more) => ['tokens', 'rotate', '--name', 'pipespan', '--target', `file:${world.file}`, ...more],
  }
  return world
}
