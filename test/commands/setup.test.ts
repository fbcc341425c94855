// Tests `pipespan setup` with a simulated platform that stores hooks and a real observability instance: the plan, the objects that it creates, the
// steps that it leaves to people, and interruptions. No secret is ever printed.
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { spawn } from 'node:child_process'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { parseAllDocuments } from 'yaml'
import { compiled, shipped } from '../shipped.ts'
import { isFull, report } from '../e2e/load.ts'
import { loadConfig } from '../../src/daemon/configuration/load.ts'
import { platformToken, startHooksPlatform, type HooksPlatform } from './hooks-platform.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { runProgram } from '../../src/commands/program.ts'
import { runCommand } from '../e2e/run-command.ts'
import { startInstance, type ObservabilityInstance } from '../support/observability-instance.ts'
import { features } from '../../src/features.ts'
import { tryLock } from '../../src/lib/file-lock.ts'

let platform: HooksPlatform
let instance: ObservabilityInstance
let folder: string
let accounts: { id: number; username: string }[]
/** The status with which the platform responds to the service account's token. */
let seen: number

beforeEach(async () => {
  platform = closeAfterTest(await startHooksPlatform({ 'groups/team': [] }))
  instance = closeAfterTest(await startInstance())
  folder = path.join(temporaryFolder(), 'made')
  accounts = []
  seen = 200
  platform.interrupt = (request, response) => {
    if (request.headers['private-token'] === 'pat-of-the-account') {
      response.writeHead(seen, { 'content-type': 'application/json' }).end('{"message":"as it is"}')
      return true
    }
    if (request.url?.includes('service_accounts') !== true) return false
    if (request.method === 'POST') accounts.push({ id: 70 + accounts.length, username: 'service_account_pipespan' })
    const body = request.method === 'POST' ? accounts.at(-1) : accounts
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    return true
  }
})
const file = (name: string): string => path.join(folder, name)
const read = (name: string): string => readFileSync(file(name), 'utf8').trim()

const commandLine = (args: readonly string[]): string[] => [
  ...['setup', '--platform-url', platform.url, '--group', 'team', '--public-url', 'https://pipespan.example.com'],
  ...['--otlp-endpoint', instance.url, '--observability-url', instance.url, '--service-account', 'team'],
  ...['--folder', folder, ...args],
]

async function setup(args: readonly string[], env: Record<string, string> = {}, stdin?: PassThrough) {
  const [stdout, stderr] = [Object.assign(new PassThrough(), { isTTY: stdin !== undefined }), new PassThrough()]
  const code = await runProgram(commandLine(args), { ...(stdin && { stdin }), stdout, stderr, env })
  const text = (stream: PassThrough) => ((stream.read() as Buffer | null) ?? '').toString()
  const out = text(stdout) + text(stderr)
  const made = ['webhook-token', 'ingest-token'].filter(name => existsSync(file(name))).map(read)
  const secrets = [platformToken, instance.apiKey, ...instance.issued, ...made]
  expect(secrets.filter(secret => out.includes(secret))).toEqual([])
  return { code, out }
}

const owner = () => ({ PIPESPAN_SETUP_TOKEN: platformToken, PIPESPAN_OBSERVABILITY_API_KEY: instance.apiKey })

describe('the command `pipespan setup`', () => {
  it('prints the plan with its irreversible steps, and changes nothing in a dry run', async () => {
    const { code, out } = await setup(['--dry-run'], owner())
    expect(code).toBe(0)
    expect(out).toContain('Creates the service account service_account_pipespan of the group team')
    expect(out).toContain('service-account cannot be undone')
    expect(out).toContain('scope read_api, in platform-token. (you)')
    expect([existsSync(folder), accounts, platform.changes, instance.tokens]).toEqual([false, [], [], []])
  })

  it('changes nothing if there is neither an interactive terminal nor the option --yes', async () => {
    expect(await setup([], owner())).toMatchObject({ code: 2, out: expect.stringContaining('Use --yes') as string })
    expect(existsSync(folder)).toBe(false)
  })

  it('completes every possible step, lists the rest, and finishes once those are done; a second run creates nothing twice', async () => {
    const first = await setup(['--yes', '--kubernetes', 'ci'], owner())
    expect(first.code).toBe(1)
    expect(first.out).toMatch(/Left for you:\n {2}- Make service_account_pipespan a member of team \(Reporter\)/)
    writeFileSync(file('platform-token'), 'pat-of-the-account\n', { mode: 0o600 })
    const second = await setup(['--yes', '--kubernetes', 'ci'], owner())
    expect(second).toMatchObject({ code: 0, out: expect.stringContaining('Everything is set up') as string })
    expect([accounts.length, platform.hooks['groups/team']?.length, instance.tokens.length]).toEqual([1, 1, 1])
    expect(platform.hooks['groups/team']?.[0]).toMatchObject({
      url: 'https://pipespan.example.com/webhooks',
      pipeline_events: true,
      token: read('webhook-token'),
    })
    const [secret, ingest] = parseAllDocuments(read('secret.yaml')).map(document => document.toJS() as unknown)
    expect(secret).toMatchObject({
      metadata: { name: 'pipespan', namespace: 'ci' },
      stringData: {
        'webhook-token': read('webhook-token'),
        'platform-token': 'pat-of-the-account',
      },
    })
    expect(ingest).toMatchObject({
      metadata: { name: 'pipespan-ingest', namespace: 'ci' },
      stringData: { token: read('ingest-token') },
    })
    for (const name of ['webhook-token', 'ingest-token', 'secret.yaml', 'setup-journal.json']) {
      expect(statSync(file(name)).mode & 0o777).toBe(0o600)
    }
  })

  it('writes a configuration that the daemon accepts', async () => {
    await setup(['--yes'], owner())
    writeFileSync(file('platform-token'), 'pat-of-the-account\n')
    const loaded = loadConfig({ env: {}, file: file('pipespan.yaml'), profiles, features })
    expect(loaded).toMatchObject({ ok: true, warnings: [] })
    if (!loaded.ok) return
    expect(loaded.config.webhook.token.current()?.[0]?.reveal()).toBe(read('webhook-token'))
    expect(loaded.config.observability.token.current()?.reveal()).toBe(read('ingest-token'))
    expect(loaded.config.poll.groups).toEqual(['team'])
  })

  it("writes as many files as possible without an owner's token, and lists what a person must do", async () => {
    const { code, out } = await setup(['--yes'])
    expect(code).toBe(1)
    expect(out).toContain('Create a webhook of team to https://pipespan.example.com/webhooks')
    expect(out).toContain('Set PIPESPAN_OBSERVABILITY_API_KEY and run this again')
    expect([platform.changes, instance.tokens]).toEqual([[], []])
    expect(existsSync(file('pipespan.yaml'))).toBe(true)
  })

  it('creates another ingest token if a response is lost, and revokes the token whose value is unknown', async () => {
    instance.add('pipespan')
    instance.misbehaveOnce('POST', '/tokens', 'lost')
    expect((await setup(['--yes'], owner())).out).toContain('ingest-token:')
    expect(instance.tokens).toHaveLength(2)
    // Another setup created this token in the meantime.
    const other = instance.add('pipespan-0badcafe')
    await setup(['--yes'], owner())
    // The three tokens are one that already existed, the other setup's, and the one whose value is in the file.
    expect(instance.tokens).toHaveLength(3)
    expect(instance.tokens).toContainEqual(other)
    expect(instance.tokens.at(-1)?.value).toBe(read('ingest-token'))
  })

  // If `isFull` is set, the setup is killed at each step in turn, until a run completes without being killed.
  it(
    'completes the setup in the next run, without duplicates, if it was killed between any two steps',
    { timeout: 600_000 },
    async () => {
      const some = [14, 28]
      let kills = 0
      for (let at = 1; isFull || kills < some.length; at += 1) {
        if (!isFull && !some.includes(at)) continue
        folder = path.join(temporaryFolder(), 'made')
        accounts = []
        platform.hooks['groups/team']?.splice(0)
        for (const { id } of instance.tokens) instance.remove(String(id))
        mkdirSync(folder, { mode: 0o700 })
        writeFileSync(file('platform-token'), 'pat-of-the-account\n', { mode: 0o600 })
        const killed = spawn(
          process.execPath,
          [
            '--import',
            new URL('kill-setup.ts', import.meta.url).href,
            shipped,
            ...commandLine(['--yes', '--kubernetes', 'ci']),
          ],
          { env: { ...process.env, ...owner(), KILL_AT: String(at), NODE_COMPILE_CACHE: compiled }, stdio: 'ignore' },
        )
        const [code, signal] = (await once(killed, 'exit')) as [number | null, string | null]
        if (signal === null) {
          expect([code, kills]).toEqual([0, at - 1])
          break
        }
        kills += 1
        expect(signal).toBe('SIGKILL')
        expect(await setup(['--yes', '--kubernetes', 'ci'], owner()), `killed at moment ${at}`).toMatchObject({
          code: 0,
        })
        expect([at, accounts.length, platform.hooks['groups/team']?.length, instance.tokens.length]).toEqual([
          at,
          1,
          1,
          1,
        ])
        expect(platform.hooks['groups/team']?.[0]?.token).toBe(read('webhook-token'))
        expect(instance.tokens[0]?.value).toBe(read('ingest-token'))
        const [, ingest] = parseAllDocuments(read('secret.yaml')).map(document => document.toJS() as unknown)
        expect(ingest).toMatchObject({ stringData: { token: read('ingest-token') } })
        expect(loadConfig({ env: {}, file: file('pipespan.yaml'), profiles, features })).toMatchObject({
          ok: true,
          warnings: [],
        })
      }
      expect(kills).toBeGreaterThanOrEqual(some.length)
      if (isFull) report({ setup: 'killed', moments: kills })
    },
  )

  it.each([
    [401, 'does not accept the token'],
    [403, 'may not read this'],
    [404, 'does not have this'],
  ])('asks for another token if the platform responds to the given one with %i', async (status, words) => {
    await setup(['--yes'], owner())
    writeFileSync(file('platform-token'), 'pat-of-the-account\n', { mode: 0o644 })
    seen = status
    const { code, out } = await setup(['--yes'], owner())
    expect([code, out]).toEqual([1, expect.stringContaining(words)])
    expect(statSync(file('platform-token')).mode & 0o777).toBe(0o600)
    seen = 200
    expect((await setup(['--yes'], owner())).code).toBe(0)
  })

  it('finds its service account by ID, whatever its name', async () => {
    await setup(['--yes'], owner())
    accounts[0]!.username = 'service_account_group_7_\u001b[31m'
    const { out } = await setup(['--yes'], owner())
    expect(out).toContain('Found the service account service_account_group_7_')
    expect(out).not.toContain('\u001b')
    expect(accounts).toHaveLength(1)
  })

  it('does not overwrite a configuration that a person edited or that already existed', async () => {
    await setup(['--yes', '--kubernetes', 'ci'], owner())
    await setup(['--yes', '--kubernetes', 'ci', '--otlp-endpoint', 'https://other.example.com'], owner())
    expect(read('pipespan.yaml')).toContain('https://other.example.com')
    writeFileSync(file('pipespan.yaml'), 'mine: true\n')
    expect((await setup(['--yes'], owner())).out).toContain('and is kept')
    expect(read('pipespan.yaml')).toBe('mine: true')
    folder = temporaryFolder()
    writeFileSync(file('pipespan.yaml'), 'mine: true\n')
    expect((await setup(['--yes'], owner())).out).toContain('was not written by this setup and is kept')
    expect(read('pipespan.yaml')).toBe('mine: true')
  })

  it('uses the first line of a secret file, which may also contain the previous secret', async () => {
    await setup(['--yes'], owner())
    writeFileSync(file('webhook-token'), 'a-new-secret-of-24-letters\nthe-one-before-it-was-rotated\n')
    await setup(['--yes'], owner())
    expect(platform.hooks['groups/team']?.[0]?.token).toBe('a-new-secret-of-24-letters')
  })

  it('rejects a folder that others can write to, a path that is a file, and a folder that another setup is using', async () => {
    mkdirSync(folder, { mode: 0o777 })
    chmodSync(folder, 0o777)
    writeFileSync(file('webhook-token'), 'planted\n')
    expect(await setup(['--yes'], owner())).toMatchObject({
      code: 1,
      out: expect.stringContaining('users can write') as string,
    })
    expect(platform.changes).toEqual([])
    chmodSync(folder, 0o700)
    const lock = tryLock(file('setup.lock'))
    expect((await setup(['--yes'], owner())).out).toContain('Another setup is running')
    lock?.release()
    folder = file('webhook-token')
    const { code, out } = await setup(['--yes'], owner())
    expect([code, out]).toEqual([1, expect.stringContaining('cannot be used (')])
  })

  it.each([401, 403, 404, 409, 500, 503])(
    'lists every step and completes the possible ones if every response is %i',
    async status => {
      platform.interrupt = (_, response) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end('{"message":"no"}')
        return true
      }
      instance.misbehaveOnce('POST', '/tokens', { status, retryAfter: '3600' })
      const { code, out } = await setup(['--yes'], owner())
      expect(code).toBe(1)
      for (const words of ['service-account:', 'Some webhooks could not be created', 'ingest-token:'])
        expect(out).toContain(words)
      expect(existsSync(file('pipespan.yaml'))).toBe(true)
      expect(readFileSync(file('setup-journal.json'), 'utf8')).not.toContain(read('webhook-token'))
    },
  )

  it('prints no URL with a password', async () => {
    const { code, out } = await setup(
      ['--dry-run', '--observability-url', 'https://ops:hunter2@obs.example.com'],
      owner(),
    )
    expect([code, out]).toEqual([2, expect.stringContaining('must not contain a user or password')])
    expect(out).not.toContain('hunter2')
  })

  it.each([
    ['whether to do it', owner],
    ['for a token', () => ({})],
  ])('changes nothing if the question %s is not answered', async (_, env) => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined })
    stdin.end()
    expect(await setup([], env(), stdin)).toMatchObject({
      code: 2,
      out: expect.stringContaining('Nothing was done') as string,
    })
    expect([existsSync(folder), platform.changes, instance.tokens]).toEqual([false, [], []])
  })

  it('asks no questions if standard input is a pipe', async () => {
    const stdin = new PassThrough()
    stdin.end('yes\n')
    expect(await setup([], owner(), stdin)).toMatchObject({
      code: 2,
      out: expect.stringContaining('Use --yes') as string,
    })
    expect(existsSync(folder)).toBe(false)
  })

  it('reports hooks that the platform rejects, and completes the other steps', async () => {
    platform.forbidden.add('groups/team')
    const { code, out } = await setup(['--yes'], owner())
    expect(code).toBe(1)
    expect(out).toContain('Some webhooks could not be created')
    expect(existsSync(file('ingest-token'))).toBe(true)
  })

  it("rejects a folder that contains another program's journal", async () => {
    await setup(['--yes'], owner())
    writeFileSync(file('setup-journal.json'), '{ "version": 9 }')
    expect(await setup(['--yes'], owner())).toMatchObject({
      code: 1,
      out: expect.stringContaining('not a setup journal') as string,
    })
  })
})

it('names a missing option if it cannot ask the user for it', async () => {
  expect(await runCommand(['setup', '--platform-url', 'https://git.example.com'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--public-url, --otlp-endpoint, --group or --project') as string,
  })
})
