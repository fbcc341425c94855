// Tests token commands from the command line to the exit code: commands that fail, and a rotation that cannot finish. No message may contain a
// secret. `client.test.ts` and `commands.test.ts` test refusals by the instance and by the commands themselves.
import path from 'node:path'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { hostname } from 'node:os'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { closeAfterTest, listen, temporaryFolder } from '../../support/after-test.ts'
import { createTokenReport } from '../../../src/features/tokens/daemon-token-report.ts'
import { daemonReports } from '../../../src/features/tokens/documents.ts'
import { openStore } from '../../../src/core/store/open-store.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { sendsNothing } from '../../../src/core/store/ports/outbox.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { startInstance, type ObservabilityInstance } from '../../support/observability-instance.ts'
import { until } from './loaded-daemon.ts'
import { runCommand } from '../../e2e/run-command.ts'

interface CommandOutput {
  readonly code: number
  readonly out: string
  readonly err: string
}

interface CommandWorld {
  readonly instance: ObservabilityInstance
  readonly folder: string
  /** The token file that the configuration and the `rotate` command name. */
  file: string
  /** The commands' environment variables. */
  env: Record<string, string>
  /** Runs a command line, and asserts that its output contains no secret. */
  pipespan(...args: readonly string[]): Promise<CommandOutput>
  /** Returns the arguments for a rotation of `file`. */
  rotate(...more: readonly string[]): readonly string[]
}

/** Further secrets that the tests use and that no output may contain. */
const planted = { key: 'a-wrong-key', token: 'a-dead-token' }

async function openCommandWorld(): Promise<CommandWorld> {
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

let world: CommandWorld

beforeEach(async () => {
  world = await openCommandWorld()
  closeAfterTest(world.instance)
})

it("runs the token commands of the container image without the daemon's webhook secret", async () => {
  Object.assign(world.env, { PIPESPAN_LISTEN: '[::]:8080', PIPESPAN_ADMIN_LISTEN: '[::]:8081' })
  expect(await world.pipespan(...world.rotate())).toMatchObject({ code: 0 })
})

it('retries token requests that are temporarily refused (429, 503), and creates only one token', async () => {
  world.instance.misbehaveOnce('GET', '/tokens', { status: 429, retryAfter: '0' })
  world.instance.misbehaveOnce('POST', '/tokens', { status: 429, retryAfter: '0' })
  expect(await world.pipespan(...world.rotate())).toMatchObject({ code: 0 })
  world.instance.misbehaveOnce('GET', '/state', { status: 503, retryAfter: '0' })
  expect(await world.pipespan('enforcement', 'status')).toMatchObject({ code: 0 })
  expect(world.instance.tokens.map(({ value }) => value)).toEqual([await readFile(world.file, 'utf8')])
})

it("tests a rotation's new token at the destination whose token file is the target", async () => {
  const first = closeAfterTest(await startInstance())
  const config = path.join(world.folder, 'pipespan.yaml')
  await writeFile(
    config,
    `destinations: [{ name: second, endpoint: '${world.instance.url}', token_file: '${world.file}' }]`,
  )
  Object.assign(world.env, {
    PIPESPAN_CONFIG: config,
    OTEL_EXPORTER_OTLP_ENDPOINT: first.url,
    SERVICE_OBSERVABILITY_TOKEN_FILE: path.join(world.folder, 'first'),
  })
  expect(await world.pipespan(...world.rotate())).toMatchObject({ code: 0 })
  expect(first.refusals).toEqual([])
})

interface Refusal {
  readonly why: string
  readonly given?: () => unknown
  readonly args: () => readonly string[]
  readonly code: number
  /** The last line on standard error must contain this remedy. */
  readonly remedy: string
}

const refusals: readonly Refusal[] = [
  {
    why: 'no instance is configured',
    given: () => (world.env = {}),
    args: () => ['tokens', 'list'],
    code: 2,
    remedy: 'Set PIPESPAN_OBSERVABILITY_URL and PIPESPAN_OBSERVABILITY_API_KEY.',
  },
  {
    why: 'there is no API key',
    given: () => (world.env.PIPESPAN_OBSERVABILITY_API_KEY = ''),
    args: () => ['tokens', 'list'],
    code: 1,
    remedy: 'Set PIPESPAN_OBSERVABILITY_API_KEY or PIPESPAN_OBSERVABILITY_API_KEY_FILE.',
  },
  {
    why: 'the API key is wrong',
    given: () => (world.env.PIPESPAN_OBSERVABILITY_API_KEY = 'a-wrong-key'),
    args: () => world.rotate(),
    code: 1,
    remedy: '(401: "invalid api key [secret]"). Check PIPESPAN_OBSERVABILITY_API_KEY (or its file)',
  },
  {
    why: 'the certificate comes from an unknown authority',
    given: async () => (world.env.PIPESPAN_OBSERVABILITY_URL = await startTls()),
    args: () => ['tokens', 'list'],
    code: 1,
    remedy: 'Set PIPESPAN_OBSERVABILITY_CA_FILE to the CA certificate of the instance.',
  },
  {
    why: 'the store does not say whether the token to be revoked is in use',
    given: async () => {
      await world.pipespan(...world.rotate())
      world.instance.add('pipespan')
      world.env.PIPESPAN_STORE_URL = 'postgres://pipespan:a-dead-token@127.0.0.1:9/pipespan'
    },
    args: () => ['tokens', 'revoke', '102'],
    code: 5,
    remedy: 'If you are sure it is another, repeat with --force.',
  },
  {
    why: 'the folder of the target does not exist',
    given: () => (world.file = path.join(world.folder, 'nowhere', 'token')),
    args: () => world.rotate(),
    code: 1,
    remedy: 'Create the folder first.',
  },
  {
    why: 'the target cannot be written',
    given: async () => {
      await mkdir(path.join(world.folder, 'closed'))
      await chmod(path.join(world.folder, 'closed'), 0o555)
      await chmod(world.folder, 0o755)
      world.file = path.join(world.folder, 'closed', 'token')
      dropPrivileges()
    },
    args: () => world.rotate(),
    code: 1,
    remedy: 'The user of this process must be able to read and write the file and its folder.',
  },
  {
    why: 'the target is invalid',
    args: () => ['tokens', 'rotate', '--name', 'pipespan', '--target', 'vault:x'],
    code: 2,
    remedy: 'Use file:/absolute/path or kubernetes:NAMESPACE/SECRET/KEY.',
  },
  {
    why: 'a duration is invalid',
    args: () => world.rotate('--grace', 'soon'),
    code: 2,
    remedy: 'Write it as 30s, 10m, 2h or 7d.',
  },
  {
    why: 'the action for enforcement is unknown',
    args: () => ['enforcement', 'maybe'],
    code: 2,
    remedy: 'Allowed choices are status, on, off.',
  },
]

/** Changes to an unprivileged user, because root may read and write every file. */
function dropPrivileges(): void {
  if (process.geteuid?.() !== 0) return
  process.seteuid?.(65_534)
  onTestFinished(() => process.seteuid?.(0))
}

/** Starts a server with a certificate from an unknown authority. */
async function startTls(): Promise<string> {
  const tls = path.join(import.meta.dirname, '..', '..', 'fixtures', 'tls')
  const [cert, key] = await Promise.all(['localhost.crt', 'localhost.key'].map(name => readFile(path.join(tls, name))))
  const server = createServer({ cert: cert!, key: key! }, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]')
  })
  return `https://127.0.0.1:${await listen(server)}`
}

describe('a token command that fails', () => {
  it.each(refusals)(
    'prints the reason and how to fix it, and exits with $code if $why',
    async ({ given, args, code, remedy }) => {
      await given?.()
      const output = await world.pipespan(...args())
      const lines = output.err.split('\n').filter(line => line !== '(see `pipespan --help`)')
      expect(output).toMatchObject({ code, out: '' })
      expect(lines.at(-1)).toContain(remedy)
    },
  )

  it("completes a token command if the server's certificate is from the configured authority", async () => {
    world.env.PIPESPAN_OBSERVABILITY_URL = (await startTls()).replace('127.0.0.1', 'localhost')
    world.env.PIPESPAN_OBSERVABILITY_CA_FILE = path.join(
      import.meta.dirname,
      '..',
      '..',
      'fixtures',
      'tls',
      'localhost.crt',
    )
    expect(await world.pipespan('tokens', 'list', '--json')).toEqual({ code: 0, out: '[]', err: '' })
  })
})

it('exits with 3 if a daemon does not report the new token, and keeps the older token valid until a rerun with --force', async () => {
  await world.pipespan(...world.rotate())
  const location = { engine: 'sqlite', path: path.join(world.folder, 'store', 'pipespan.db') } as const
  const store = await openStore(location, { maxSize: 1e9, parts: [], encode: sendsNothing })
  // This daemon reads its token from a variable and never reads the token file.
  const stuck = new Secret(await readFile(world.file, 'utf8'))
  const report = createTokenReport({
    reports: store.repositories.of(daemonReports),
    tokens: () => [stuck],
    clock: systemClock,
    log: silentLog(),
  })
  report.start()
  await until(async () => (await store.repositories.of(daemonReports).all()).length > 0, 'the report')

  const kept = await world.pipespan(...world.rotate('--grace', '1s'))
  expect(kept.code).toBe(3)
  expect(kept.out).toContain(`${hostname()}/`)
  expect(kept.out).toMatch(/Run again when they have read it, or with --force\.$/)
  expect(world.instance.tokens).toHaveLength(2)
  expect(await world.pipespan('tokens', 'revoke', '101')).toMatchObject({ code: 5 })
  expect(await world.pipespan(...world.rotate('--grace', '1s', '--json'))).toMatchObject({ code: 3 })

  const forced = await world.pipespan(...world.rotate('--grace', '0s', '--force'))
  expect(forced).toMatchObject({ code: 0, out: expect.stringMatching(/revoked: 101\.$/) as unknown })
  expect(world.instance.tokens).toHaveLength(1)
  await report.stop()
  await store.close()
})
