// Tests every refusal of the token commands, from the command line to the exact message and the exit code. No message contains a secret.
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import path from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { closeAfterTest, listen } from '../../support/after-test.ts'
import { openCommandWorld, type CommandWorld } from './command-world.ts'

let world: CommandWorld

beforeEach(async () => {
  world = await openCommandWorld()
  closeAfterTest(world.instance)
})

it("runs in the image without the daemon's webhook secret", async () => {
  Object.assign(world.env, { PIPESPAN_LISTEN: '[::]:8080', PIPESPAN_ADMIN_LISTEN: '[::]:8081' })
  expect(await world.pipespan(...world.rotate())).toMatchObject({ code: 0 })
})

const checkAddress =
  'Check PIPESPAN_OBSERVABILITY_URL: it must be the URL of the observability instance itself, not its OTLP endpoint, and not behind a login page.'
const page = { status: 200, type: 'text/html', body: '<!doctype html><title>Sign in</title>' }

it('repeats requests that are refused temporarily (429, 503) within the command, and leaves one token', async () => {
  world.instance.misbehaveOnce('GET', '/tokens', { status: 429, retryAfter: '0' })
  world.instance.misbehaveOnce('POST', '/tokens', { status: 503, retryAfter: '0', isDone: true })
  expect(await world.pipespan(...world.rotate())).toMatchObject({ code: 0 })
  world.instance.misbehaveOnce('GET', '/state', { status: 503, retryAfter: '0' })
  expect(await world.pipespan('enforcement', 'status')).toMatchObject({ code: 0 })
  expect(world.instance.tokens.map(({ value }) => value)).toEqual([await readFile(world.file, 'utf8')])
})

interface Refusal {
  readonly why: string
  readonly given?: () => unknown
  readonly args: () => readonly string[]
  readonly code: number
  /** The last line on standard error, without `$FOLDER`'s path. */
  readonly description: string
}

const refusals: readonly Refusal[] = [
  {
    why: 'no instance is configured',
    given: () => (world.env = {}),
    args: () => ['tokens', 'list'],
    code: 2,
    description:
      'No observability instance is configured. Set PIPESPAN_OBSERVABILITY_URL and PIPESPAN_OBSERVABILITY_API_KEY.',
  },
  {
    why: 'there is no API key',
    given: () => (world.env.PIPESPAN_OBSERVABILITY_API_KEY = ''),
    args: () => ['tokens', 'list'],
    code: 1,
    description:
      'There is no API key for the observability instance. Set PIPESPAN_OBSERVABILITY_API_KEY or PIPESPAN_OBSERVABILITY_API_KEY_FILE.',
  },
  {
    why: 'the API key is wrong',
    given: () => (world.env.PIPESPAN_OBSERVABILITY_API_KEY = 'a-wrong-key'),
    args: () => world.rotate(),
    code: 1,
    description:
      'Could not list the ingest tokens: the observability instance does not accept the API key (401: "invalid api key [secret]"). Check PIPESPAN_OBSERVABILITY_API_KEY (or its file): the key may have expired or been revoked.',
  },
  {
    why: 'the role of the key does not suffice',
    given: () => (world.env.PIPESPAN_OBSERVABILITY_API_KEY = world.instance.viewerKey),
    args: () => ['tokens', 'create', '--name', 'pipespan'],
    code: 1,
    description:
      'Could not create an ingest token named "pipespan": the API key has no permission for this (403: "editor role required"). Use a key of a user with the Editor role, or of an administrator.',
  },
  {
    why: 'there is no such API at the address',
    given: () => (world.env.PIPESPAN_OBSERVABILITY_URL = `${world.instance.url}/elsewhere`),
    args: () => ['enforcement', 'status'],
    code: 1,
    description: `Could not read the state of enforcement: there is no token API at this address (404: "not found"). ${checkAddress}`,
  },
  {
    why: 'a web page answers',
    given: () => world.instance.misbehaveOnce('GET', '/tokens', page),
    args: () => ['tokens', 'list'],
    code: 1,
    description: `Could not list the ingest tokens: a web page answered instead of the token API (200). ${checkAddress}`,
  },
  {
    why: 'a web page answers with an error',
    given: () => world.instance.misbehaveOnce('GET', '/tokens', { ...page, status: 404 }),
    args: () => ['tokens', 'list'],
    code: 1,
    description: `Could not list the ingest tokens: the answer is not from the token API (404). ${checkAddress}`,
  },
  {
    why: 'the instance redirects to a login',
    given: () => world.instance.misbehaveOnce('PUT', '/state', { ...page, status: 302 }),
    args: () => ['enforcement', 'off'],
    code: 1,
    description: `Could not turn enforcement off: the answer is not from the token API (302). ${checkAddress}`,
  },
  {
    why: 'the instance cannot answer now',
    given: () =>
      world.instance.misbehaveOnce('GET', '/tokens', {
        status: 503,
        retryAfter: '3600',
        body: '{"message":"starting up"}',
      }),
    args: () => ['tokens', 'list'],
    code: 1,
    description:
      'Could not list the ingest tokens: the observability instance cannot answer now (503: "starting up"). Try again later; if this persists, check the health of the instance.',
  },
  {
    why: 'there were too many requests',
    given: () => world.instance.misbehaveOnce('GET', '/tokens', { status: 429, retryAfter: '3600' }),
    args: () => ['tokens', 'list'],
    code: 1,
    description:
      'Could not list the ingest tokens: there were too many requests (429). Try again later; if this persists, check the health of the instance.',
  },
  {
    why: 'the answer with the new token is cut off',
    given: () => world.instance.misbehaveOnce('POST', '/tokens', 'truncated'),
    args: () => world.rotate(),
    code: 1,
    description: `Could not create an ingest token named "pipespan": the answer is incomplete, or has no token (201). A proxy may be altering answers; also check PIPESPAN_OBSERVABILITY_URL.`,
  },
  {
    why: 'the certificate comes from an unknown authority',
    given: async () => (world.env.PIPESPAN_OBSERVABILITY_URL = await startTls()),
    args: () => ['tokens', 'list'],
    code: 1,
    description:
      'Could not list the ingest tokens: the observability instance did not answer (self-signed certificate). Set PIPESPAN_OBSERVABILITY_CA_FILE to the CA certificate of the instance.',
  },
  {
    why: 'the token to be revoked does not exist',
    args: () => ['tokens', 'revoke', '7'],
    code: 1,
    description: 'There is no valid ingest token 7. `pipespan tokens list` shows the valid ones.',
  },
  {
    why: 'the token to be revoked is in use',
    given: async () => {
      await world.pipespan(...world.rotate())
      world.instance.add('another')
    },
    args: () => ['tokens', 'revoke', '101', '--force'],
    code: 5,
    description:
      'Token 101 is not revoked: it is in use, and telemetry sent with it would be refused. `pipespan tokens rotate` replaces it, then revokes it.',
  },
  {
    why: 'the token to be revoked is the last valid one under enforcement',
    given: () => world.instance.add('pipespan'),
    args: () => ['tokens', 'revoke', '101', '--force'],
    code: 5,
    description:
      'Token 101 is not revoked: it is the last valid one, and enforcement is on: all telemetry would be dropped. Create another first, or run `pipespan enforcement off`.',
  },
  {
    why: 'the token to be revoked is the last valid one',
    given: () => {
      world.instance.add('pipespan')
      world.instance.enforced = false
    },
    args: () => ['tokens', 'revoke', '101'],
    code: 5,
    description:
      'Token 101 is not revoked: it is the last valid one. Enforcement is off, so nothing would be dropped: repeat with --force.',
  },
  {
    why: 'the token to be revoked may be the one in use',
    given: async () => {
      world.instance.add('pipespan')
      await writeFile(world.file, world.instance.add('pipespan').value)
    },
    args: () => ['tokens', 'revoke', '101'],
    code: 5,
    description:
      'Token 101 is not revoked: it may be the one in use: the id of the token in use is unknown here. If you are sure it is another, repeat with --force.',
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
    description:
      'Token 102 is not revoked: it may be the one in use: the id of the token in use is unknown here. If you are sure it is another, repeat with --force.',
  },
  {
    why: 'enforcement would drop all data of a daemon without a token',
    given: () => (world.instance.enforced = false),
    args: () => ['enforcement', 'on'],
    code: 5,
    description:
      'Enforcement is unchanged: the daemon has no token, and all it sends would be dropped. Create one with `pipespan tokens create --target`, or repeat with --force.',
  },
  {
    why: 'enforcement would refuse the daemon’s token',
    given: async () => {
      world.instance.enforced = false
      await writeFile(world.file, 'a-dead-token')
    },
    args: () => ['enforcement', 'on'],
    code: 5,
    description:
      "Enforcement was turned on and off again at once: the OTLP endpoint does not accept the daemon's token (401). Rotate it with `pipespan tokens rotate`, or repeat with --force.",
  },
  {
    why: 'the endpoint does not say whether it accepts the daemon’s token',
    given: async () => {
      await writeFile(world.file, world.instance.add('pipespan').value)
      world.instance.misbehaveOnce('POST', '/v1/traces', { status: 503 })
    },
    args: () => ['enforcement', 'on'],
    code: 5,
    description:
      "Enforcement is unchanged: the OTLP endpoint does not say whether it accepts the daemon's token (the endpoint answered 503). Check the endpoint, or repeat with --force.",
  },
  {
    why: 'the folder of the target does not exist',
    given: () => (world.file = path.join(world.folder, 'nowhere', 'token')),
    args: () => world.rotate(),
    code: 1,
    description:
      "Could not lock $FOLDER/nowhere/token: ENOENT: no such file or directory, open '$FOLDER/nowhere/token.rotation.lock'. Create the folder first.",
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
    description:
      "Could not lock $FOLDER/closed/token: EACCES: permission denied, open '$FOLDER/closed/token.rotation.lock'. The user of this process must be able to read and write the file and its folder.",
  },
  {
    why: 'the journal is damaged',
    given: async () => writeFile(`${world.file}.rotation.json`, '{"version":'),
    args: () => world.rotate(),
    code: 1,
    description:
      'The rotation journal at $FOLDER/token.rotation.json cannot be read. It may be damaged or of a newer version: restore it, or delete it and rotate once with --adopt.',
  },
  {
    why: 'the target is a Secret and the process does not run in a pod',
    args: () => ['tokens', 'rotate', '--name', 'pipespan', '--target', 'kubernetes:ci/ingest/token'],
    code: 1,
    description:
      'A kubernetes: target needs the service account of a pod: KUBERNETES_SERVICE_HOST is not set. Run the rotation as a Job in the cluster, with automountServiceAccountToken left on.',
  },
  {
    why: 'the target is invalid',
    args: () => ['tokens', 'rotate', '--name', 'pipespan', '--target', 'vault:x'],
    code: 2,
    description:
      "error: option '--target <target>' argument 'vault:x' is invalid. Use file:/absolute/path or kubernetes:NAMESPACE/SECRET/KEY.",
  },
  {
    why: 'a duration is invalid',
    args: () => world.rotate('--grace', 'soon'),
    code: 2,
    description: "error: option '--grace <duration>' argument 'soon' is invalid. Write it as 30s, 10m, 2h or 7d.",
  },
  {
    why: 'the action for enforcement is unknown',
    args: () => ['enforcement', 'maybe'],
    code: 2,
    description:
      "error: command-argument value 'maybe' is invalid for argument 'action'. Allowed choices are status, on, off.",
  },
]

/** Changes to an unprivileged user, because root may read and write every file. */
function dropPrivileges(): void {
  if (process.geteuid?.() !== 0) return
  process.seteuid?.(65_534)
  onTestFinished(() => process.seteuid?.(0))
}

/** A server with a certificate of an unknown authority. */
async function startTls(): Promise<string> {
  const tls = path.join(import.meta.dirname, '..', '..', 'fixtures', 'tls')
  const [cert, key] = await Promise.all(['localhost.crt', 'localhost.key'].map(name => readFile(path.join(tls, name))))
  const server = createServer({ cert: cert!, key: key! }, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]')
  })
  return `https://127.0.0.1:${await listen(server)}`
}

describe('a command that fails names the reason and a remedy', () => {
  it.each(refusals)('and exits with $code if $why', async ({ given, args, code, description }) => {
    await given?.()
    const output = await world.pipespan(...args())
    const lines = output.err.split('\n').filter(line => line !== '(see `pipespan --help`)')
    expect({ code: output.code, description: lines.at(-1)?.replaceAll(world.folder, '$FOLDER') }).toEqual({
      code,
      description,
    })
    expect(output.out).toBe('')
  })

  it('and exits with 1 if the instance does not answer within ten seconds', async () => {
    world.instance.misbehaveOnce('GET', '/tokens', 'silent')
    expect(await world.pipespan('tokens', 'list')).toEqual({
      code: 1,
      out: '',
      err: 'Could not list the ingest tokens: the observability instance did not answer (no answer within 10 s). Check PIPESPAN_OBSERVABILITY_URL and the network, and try again.',
    })
  })

  it('and exits with 1 if the instance cannot be reached', async () => {
    // Port 1 is used, because another process may have taken a port that was free a moment ago.
    world.env.PIPESPAN_OBSERVABILITY_URL = 'http://127.0.0.1:1'
    const err =
      'Could not list the ingest tokens: the observability instance did not answer (connect ECONNREFUSED 127.0.0.1:1). Check PIPESPAN_OBSERVABILITY_URL and the network, and try again.'
    expect(await world.pipespan('tokens', 'list')).toEqual({ code: 1, out: '', err })
  })

  it('but does not fail with a certificate of the configured authority', async () => {
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
