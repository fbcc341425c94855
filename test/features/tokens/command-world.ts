// Sets up an instance and a folder for the token file and the store, and runs the token commands from the command line on.
import path from 'node:path'
import { expect } from 'vitest'
import { temporaryFolder } from '../../support/after-test.ts'
import { runCommand } from '../../e2e/run-command.ts'
import { startInstance, type ObservabilityInstance } from '../../support/observability-instance.ts'

export interface CommandOutput {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface CommandWorld {
  readonly instance: ObservabilityInstance
  readonly folder: string
  /** The token file of the configuration and of `rotate`. */
  file: string
  /** The environment of the commands. */
  env: Record<string, string>
  /** Runs a command line. The output must not contain a secret. */
  pipespan(...args: readonly string[]): Promise<CommandOutput>
  /** The arguments for a rotation of `file`. */
  rotate(...more: readonly string[]): readonly string[]
}

/** Further secrets that tests use. */
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
      const { code, stdout, stderr } = await runCommand(args, world.env)
      const output = { code, out: stdout.trimEnd(), err: stderr.trimEnd() }
      const secrets = [instance.apiKey, instance.viewerKey, planted.key, planted.token, ...instance.issued]
      expect(secrets.filter(secret => `${output.out}${output.err}`.includes(secret))).toEqual([])
      return output
    },
    rotate: (...more) => ['tokens', 'rotate', '--name', 'pipespan', '--target', `file:${world.file}`, ...more],
  }
  return world
}
