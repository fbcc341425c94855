// Tests `pipespan try` as people run it: the shipped program in a separate process, with the simulated platform, ended by signals.
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { closeAfterTest, listen, temporaryFolder } from '../support/after-test.ts'
import { good } from '../daemon/configuration/given.ts'
import { freePort, freePorts } from '../../src/simulator/daemon-process.ts'
import { Lifecycle } from '../../src/simulator/platform/lifecycle.ts'
import { tryPlatform } from '../../src/commands/try.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { ProgramProcess } from '../e2e/daemon.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import { runCommand } from '../e2e/run-command.ts'
import { scenarios } from '../../src/simulator/platform/scenarios.ts'
import { shipped } from '../shipped.ts'
import { Timeline } from '../../src/simulator/platform/timeline.ts'

const hour = 3_600_000
const token = 'a-token-that-only-this-test-knows'
const storefront = 'brightwater/shop/storefront'

/** A platform with three pipelines in different projects: two ended an hour ago, and one has been running for two days. */
async function platform() {
  const state = new PlatformState()
  const api = closeAfterTest(await RestApi.start({ state, now: () => Date.now(), token }))
  const timeline = new Timeline(Date.now() - 2 * hour)
  const lifecycle = new Lifecycle(state, timeline, new Random(11), () => undefined)
  const branch = lifecycle.create(scenarios.branch(new Random(3)))
  const nightly = lifecycle.create(scenarios.nightly(new Random(3)))
  timeline.runUntil(Date.now() - hour)
  const old = lifecycle.create(scenarios.branch(new Random(3)))
  Object.assign(old, { status: 'running', updatedAt: Date.now() - 48 * hour })
  return { api, branch, nightly, old }
}

interface Tried {
  readonly process: ProgramProcess
  readonly temporary: string
  /** Resolves once the standard output matches a pattern. */
  readonly printed: (pattern: RegExp) => Promise<RegExpExecArray>
}

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Tried {
  const temporary = temporaryFolder()
  const process = new ProgramProcess(['try', ...args], { PIPESPAN_PLATFORM_TOKEN: token, TMPDIR: temporary, ...env })
  onTestFinished(async () => {
    process.child.kill('SIGTERM')
    await process.ended
  })
  const printed = async (pattern: RegExp): Promise<RegExpExecArray> =>
    vi.waitFor(
      () => {
        const found = pattern.exec(process.stdout)
        if (found === null) throw new Error(`${String(pattern)} is not in:\n${process.stdout}${process.stderr}`)
        return found
      },
      { timeout: 60_000, interval: 50 },
    )
  return { process, temporary, printed }
}

/** The YAML in the output, which people are meant to copy. */
function yamlIn(stdout: string): string {
  const [, block = ''] = /serve`\):\n\n((?: {2}.*\n)+)/.exec(stdout) ?? []
  return block.replaceAll(/^ {2}/gm, '')
}

describe('the command `pipespan try`', () => {
  it('shows finished and running pipelines of a project, exports nothing, and leaves no files', async () => {
    const { api, branch, old } = await platform()
    const { process, temporary, printed } = start([api.url, branch.project.path])
    await printed(/^Found 2 pipelines, 1 running\.$/m)
    const [, pages = ''] = await printed(/Open the pages in your browser: (\S+)/)
    const { pipelines } = (await (await fetch(`${pages}api/pipelines?status=running`)).json()) as {
      pipelines: { jobs: object[] }[]
    }
    expect(pipelines.map(({ jobs }) => jobs.length)).toEqual([old.jobs.length])
    expect(process.stdout).toContain(`✓ The project ${branch.project.path} at ${api.url}.`)
    expect(process.stdout).toContain('Nothing is exported: no endpoint is set.')
    const overview = (await (await fetch(`${pages}api/overview`)).json()) as { queues: unknown; notices: object[] }
    expect(overview.queues).toEqual([])
    expect(overview.notices).toMatchObject([
      { level: 'hint', what: 'Nothing is exported (PIPESPAN_OBSERVABILITY_EXPORT=none).' },
    ])
    process.child.kill('SIGINT')
    expect(await process.ended).toEqual({ code: 0, signal: null })
    expect(readdirSync(temporary)).toEqual([])
    expect(process.stderr).toBe('')
    await expect(fetch(pages)).rejects.toThrow()
  })

  it('prints, at the end, a configuration for a permanent daemon, without the token', async () => {
    const { api, branch } = await platform()
    const { process, printed } = start([api.url, branch.project.path], { PIPESPAN_PLATFORM_PROFILE: 'gitlab' })
    await printed(/^Found 2/m)
    process.child.kill('SIGINT')
    await process.ended
    expect(process.stdout + process.stderr).not.toContain(token)
    const lines = [...process.stdout.matchAll(/^ {2}export (\w+)=(\S+)$/gm)]
    const variables = Object.fromEntries(lines.map(([, name = '', value = '']) => [name, value]))
    const byVariables = good({ ...variables, PIPESPAN_PLATFORM_TOKEN: token }).config
    const yaml = yamlIn(process.stdout)
    expect(yaml).toContain('token_file: platform-token\n')
    const byFile = good({}, yaml.replace('token_file: platform-token', 'token: x')).config
    for (const { platform, poll, observability } of [byVariables, byFile]) {
      expect(platform).toMatchObject({ url: api.url, profile: 'gitlab' })
      expect(poll.projects).toEqual([branch.project.path])
      expect(observability.export).toEqual([])
    }
  })

  it.each(['SIGTERM', 'SIGHUP'] as const)('ends `pipespan try` on %s and leaves no files', async signal => {
    const { api } = await platform()
    const { process, temporary, printed } = start([api.url, storefront])
    await printed(/^Found/m)
    process.child.kill(signal)
    expect(await process.ended).toEqual({ code: 0, signal: null })
    expect(readdirSync(temporary)).toEqual([])
  })

  it('leaves no files when a second Ctrl-C ends it immediately', async () => {
    const { api } = await platform()
    const { process, temporary, printed } = start([api.url, storefront])
    const [, pages = ''] = await printed(/browser: (\S+)/)
    process.child.kill('SIGINT')
    process.child.kill('SIGINT')
    await process.ended
    await vi.waitFor(async () => expect(fetch(pages)).rejects.toThrow(), { timeout: 20_000 })
    expect(readdirSync(temporary)).toEqual([])
  })

  it('shows a group including the projects of its subgroups', async () => {
    const { api } = await platform()
    const { printed } = start([`${api.url}/brightwater`])
    await printed(/^✓ The group brightwater with \d+ projects, including those of its subgroups,/m)
    await printed(/^Found 3 pipelines, 1 running\.$/m)
  })

  it('uses another port if the default port is in use', async () => {
    const port = await listen(createServer())
    expect(await freePort(port)).not.toBe(port)
    const [free = 0] = await freePorts(1)
    expect(await freePort(free)).toBe(free)
  })

  it('exports pipelines if an endpoint is set', async () => {
    const { api, branch } = await platform()
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const { process, printed } = start([api.url, branch.project.path], { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    await receiver.until(() => receiver.spans.some(({ attributes }) => attributes['pipeline.id'] === branch.id))
    await printed(/^Exports are sent to the endpoint of OTEL_EXPORTER_OTLP_/m)
    process.child.kill('SIGINT')
    await process.ended
    expect(process.stdout).not.toContain('OBSERVABILITY_EXPORT')
  })

  it('keeps the store with --keep, resumes from it, and names it in the configuration', async () => {
    const { api, branch } = await platform()
    const kept = path.join(temporaryFolder(), 'new', 'folder')
    const first = start([api.url, branch.project.path, '--keep', kept])
    await first.printed(/^Found 2 pipelines/m)
    first.process.child.kill('SIGINT')
    await first.process.ended
    expect(first.process.stdout).toContain(`export PIPESPAN_STORE_URL=sqlite:${kept}/pipespan.db`)
    expect(existsSync(path.join(kept, 'pipespan.db'))).toBe(true)
    api.misbehave = ({ path: asked }) => (asked.endsWith('/pipelines') ? { status: 200, body: '[]' } : undefined)
    const second = start([api.url, branch.project.path, '--keep', kept])
    await second.printed(/^Found 2 pipelines/m)
  })

  it('shows pipelines without jobs if the token may not read jobs, and reports this', async () => {
    const { api, branch } = await platform()
    const body = '{"message":"403 Forbidden"}'
    const headers = { 'content-type': 'application/json' }
    api.misbehave = ({ path: asked }) => (asked.endsWith('/jobs') ? { status: 403, headers, body } : undefined)
    const { printed } = start([api.url, branch.project.path])
    await printed(/^! The token may not read the jobs of this project's pipelines.* Give the token's user a role/m)
    await printed(/^Found 2 pipelines/m)
  })

  it('prompts for the token on a terminal without echoing it', async () => {
    const { api, branch } = await platform()
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined })
    const stdout = Object.assign(new PassThrough(), { isTTY: true })
    const stderr = new PassThrough()
    const stop = new AbortController()
    const given = { url: api.url, target: branch.project.path }
    const options = { open: false, main: shipped, signal: stop.signal }
    const ended = tryPlatform(given, options, { stdin, stdout, stderr, env: { PATH: process.env.PATH } })
    let shown = ''
    stdout.on('data', chunk => {
      shown += String(chunk)
      if (shown.includes('Found 2')) stop.abort()
    })
    await vi.waitFor(() => expect(shown).toContain('read_api'))
    stdin.write(`${token}\r`)
    expect(await ended).toBe(0)
    expect(shown).toContain(`✓ The project ${branch.project.path}`)
    expect(shown).not.toContain(token)
    stderr.end()
    expect(await text(stderr)).toBe('')
  })
})

describe('`pipespan try` when it cannot show anything', () => {
  const asJson = { 'content-type': 'application/json' }

  it.each([
    [
      'a project that does not exist',
      'brightwater/nothing',
      undefined,
      /has no project or group brightwater\/nothing.*Check the path/,
    ],
    [
      'an expired token',
      storefront,
      { status: 401, headers: asJson, body: '{"error":"invalid_token"}' },
      /does not accept the token.*may have expired/,
    ],
    [
      'a token without the scope',
      storefront,
      { status: 403, headers: asJson, body: '{"error":"insufficient_scope"}' },
      /scope is not sufficient.*Create a token that may read the API/,
    ],
    [
      'a web page in place of the API',
      storefront,
      { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Sign in' },
      /[Ww]eb page.*Check PIPESPAN_PLATFORM_URL/,
    ],
    ['a platform that is down', storefront, { status: 503, body: '' }, /cannot serve requests at the moment/],
  ])('fails at once for %s, and says how to fix the problem', async (_, target, reply, message) => {
    const { api } = await platform()
    api.misbehave = () => reply
    const { code, stderr } = await runCommand(['try', api.url, target], { PIPESPAN_PLATFORM_TOKEN: token })
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain(token)
    expect(code).toBe(1)
  })

  it('fails with the network error if nothing listens at the address', async () => {
    const [port = 0] = await freePorts(1)
    const url = `http://127.0.0.1:${port}`
    const { code, stderr } = await runCommand(['try', url, storefront], { PIPESPAN_PLATFORM_TOKEN: token })
    expect(stderr).toContain('ECONNREFUSED')
    expect(code).toBe(1)
  })

  it.each([
    ['no token and no terminal', ['https://git.example.com', 'a/b'], {}, 'set PIPESPAN_PLATFORM_TOKEN'],
    ['no project or group', ['https://git.example.com'], {}, 'Give a project or group'],
    ['an invalid address', ['git.example.com', 'a/b'], {}, 'must be an http or https URL'],
    [
      'a project on another platform',
      ['https://git.example.com', 'https://other.example/a'],
      {},
      'is not the platform',
    ],
    ['a password in the address', ['https://u:p@git.example.com', 'a'], {}, 'must not contain a user'],
    ['--config', ['https://git.example.com', 'a', '--config', 'x.yaml'], {}, 'Leave --config out'],
    [
      'a wrong setting',
      ['https://git.example.com', 'a'],
      { PIPESPAN_PLATFORM_TOKEN: token, PIPESPAN_PLATFORM_BUDGET: 'x' },
      'PIPESPAN_PLATFORM_BUDGET',
    ],
  ])('fails at once if it is started with %s, and says how to fix the problem', async (_, args, env, message) => {
    const { code, stderr } = await runCommand(['try', ...args], env)
    expect(stderr).toContain(message)
    expect(code).toBe(2)
  })

  it('fails if the folder for --keep cannot be created, and says to give another folder', async () => {
    const { api } = await platform()
    const file = path.join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    // Nobody can create a folder in /proc, where Node's recursive mkdir never returns.
    for (const folder of [path.join(file, 'below'), '/proc/pipespan-test/below']) {
      const args = ['try', api.url, storefront, '--keep', folder]
      const { code, stderr } = await runCommand(args, { PIPESPAN_PLATFORM_TOKEN: token })
      expect(stderr).toContain('Give --keep a folder that you can write to.')
      expect(code).toBe(1)
    }
  })
})
