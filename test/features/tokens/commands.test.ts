// Tests the token commands as an operator sees them: tables, JSON, exit codes and refusals. No output contains a token's value unless the command is
// meant to print it.
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { PassThrough } from 'node:stream'
import { enforcementCommand } from '../../../src/features/tokens/enforcement-command.ts'
import { tokensCommand, type TokensAction } from '../../../src/features/tokens/tokens-command.ts'
import type { TokenSender } from '../../../src/features/tokens/command-setup.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { Secret, fingerprintOf } from '../../../src/lib/secret.ts'
import { createIngestTokens } from '../../../src/features/tokens/client.ts'
import { Fault } from '../../../src/lib/fault.ts'
import { createProver } from '../../../src/features/tokens/otlp-proof.ts'
import { createMemoryStore, type MemoryStore } from './stand-ins/memory-store.ts'
import { startInstance, type ObservabilityInstance } from '../../support/observability-instance.ts'

let instance: ObservabilityInstance
let folder: string
let file: string
let store: MemoryStore
/** All token values that were ever valid. */
let values: Set<string>
/** The destinations after the first one, which is the instance. */
let others: TokenSender[]

beforeEach(async () => {
  instance = closeAfterTest(await startInstance({ times: true }))
  folder = temporaryFolder()
  file = path.join(folder, 'token')
  store = createMemoryStore()
  values = new Set([instance.apiKey])
  others = []
})

async function currentToken(): Promise<Secret | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text === '' ? undefined : new Secret(text)
}

function setup() {
  const prove = createProver({ url: instance.otlpUrl, timeoutMs: 60_000 })
  const tokens = async (): Promise<Secret[]> => [await currentToken()].flatMap(token => token ?? [])
  return {
    instance: createIngestTokens({ url: instance.url, apiKey: () => new Secret(instance.apiKey), timeoutMs: 60_000 }),
    prove,
    senders: [{ name: 'default', tokens, prove }, ...others],
    tokenFiles: [file],
    store,
    clock: systemClock,
    timeoutMs: 60_000,
  }
}

interface CommandOutput {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function outputOf(
  command: (terminal: Parameters<typeof tokensCommand>[2]) => Promise<number>,
): Promise<CommandOutput> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const code = await command({ stdout, stderr, env: {} }).catch((error: unknown) => {
    // Prints the error as the program would.
    if (!(error instanceof Fault)) throw error
    stderr.write(`${error.message}\n`)
    return 1
  })
  const text = (stream: PassThrough) => ((stream.read() as Buffer | null) ?? '').toString()
  return { code, out: text(stdout), err: text(stderr) }
}

/** Runs a token command whose output must not contain any token value. */
async function tokens(action: TokensAction): Promise<CommandOutput> {
  const output = await outputOf(terminal => tokensCommand(action, setup(), terminal))
  for (const token of instance.tokens) values.add(token.value)
  for (const value of values) expect(`${output.out}${output.err}`).not.toContain(value)
  return output
}

async function enforcement(action: 'status' | 'on' | 'off', force = false): Promise<CommandOutput> {
  return await outputOf(terminal => enforcementCommand({ action, force, json: false }, setup(), terminal))
}

const rotate = {
  action: 'rotate',
  name: 'pipespan',
  graceMs: 0,
  json: false,
  dryRun: false,
  adopt: false,
  force: false,
} as const
const target = () => `file:${file}`
const plainRevoke = { action: 'revoke', force: false, json: false } as const

describe('the command `pipespan tokens create`', () => {
  it("prints a created token's value once on standard output, for scripts", async () => {
    const create = { action: 'create', name: 'pipespan', json: false } as const
    const output = await outputOf(terminal => tokensCommand(create, setup(), terminal))
    expect(output).toEqual({
      code: 0,
      out: `${instance.tokens[0]!.value}\n`,
      err: 'Created as 101. This value is not shown again.\n',
    })
    const json = await outputOf(terminal => tokensCommand({ ...create, json: true }, setup(), terminal))
    expect(JSON.parse(json.out)).toEqual({ id: '102', name: 'pipespan', token: instance.tokens[1]!.value })
  })

  it('prints how to find and revoke a token that may have been created, if there is no target', async () => {
    instance.misbehaveOnce('POST', '/tokens', { status: 503, isDone: true })
    const { code, err } = await tokens({ action: 'create', name: 'pipespan', json: false })
    expect(code).not.toBe(0)
    expect(err).toContain('A token named pipespan may have been created')
    expect(err).toContain('`pipespan tokens revoke ID`')
    instance.misbehaveOnce('POST', '/tokens', { status: 403 })
    expect((await tokens({ action: 'create', name: 'pipespan', json: false })).err).not.toContain('may have been')
  })

  it("writes a created token's value directly to a target, and revokes nothing", async () => {
    await tokens({ ...rotate, target: target() })
    const output = await tokens({ action: 'create', name: 'pipespan', target: target(), json: false })
    expect(output.code).toBe(0)
    expect(instance.tokens.map(token => token.value)).toHaveLength(2)
    expect((await currentToken())?.reveal()).toBe(instance.tokens[1]!.value)
    await tokens({ ...rotate, target: target() })
    expect(instance.tokens).toHaveLength(1)
  })
})

describe('the command `pipespan tokens list`', () => {
  it('prints a table of tokens that shows which one is in use', async () => {
    await tokens({ ...rotate, target: target() })
    instance.add('another')
    const { code, out } = await tokens({ action: 'list', json: false })
    expect(code).toBe(0)
    const [heading, first, second] = out.trimEnd().split('\n')
    expect(heading).toMatch(/^ID +NAME +CREATED +LAST USED +VALID +USE$/)
    expect(first).toMatch(/^101 +pipespan +\S+Z +- +yes +in use$/)
    expect(second).toMatch(/^102 +another +\S+Z +- +yes +not in use$/)
  })

  it('prints the list of tokens as JSON for scripts', async () => {
    const { createdAt } = instance.add('pipespan')
    await writeFile(file, 'a value that no journal knows')
    const { out } = await tokens({ action: 'list', json: true })
    expect(JSON.parse(out)).toEqual([
      { id: '101', name: 'pipespan', createdAt, lastUsedAt: null, valid: true, use: 'unknown' },
    ])
  })

  it('prints nothing on standard output if there are no ingest tokens', async () => {
    expect(await tokens({ action: 'list', json: false })).toMatchObject({ code: 0, out: '' })
  })
})

describe('the command `pipespan tokens revoke`', () => {
  it('revokes an ingest token that is not in use', async () => {
    await tokens({ ...rotate, target: target() })
    const { id } = instance.add('another')
    expect(await tokens({ ...plainRevoke, id: String(id) })).toMatchObject({ code: 0, out: 'Token 102 is revoked.\n' })
    expect(instance.tokens).toHaveLength(1)
  })

  it.each([404, 204])('fails if a token is still listed after its revocation returned %i', async status => {
    await tokens({ ...rotate, target: target() })
    const { id } = instance.add('another')
    instance.misbehaveOnce('DELETE', `/tokens/${id}`, { status, body: '' })
    const output = await tokens({ ...plainRevoke, id: String(id) })
    expect(output.code).not.toBe(0)
    expect(output.out).not.toContain('is revoked')
    expect(output.err).toContain('valid')
  })

  it('refuses to revoke the token in use, even with --force', async () => {
    await tokens({ ...rotate, target: target() })
    instance.add('another')
    const output = await tokens({ ...plainRevoke, id: '101', force: true })
    expect(output).toMatchObject({ code: 5, err: expect.stringContaining('it is in use') as unknown })
    expect(instance.tokens).toHaveLength(2)
  })

  it('refuses to revoke a token that a daemon still reports', async () => {
    await tokens({ ...rotate, target: target() })
    const former = fingerprintOf((await currentToken())!)
    await tokens({ action: 'create', name: 'pipespan', target: target(), json: false })
    store.reports = () => [{ daemon: 'a', tokenFingerprint: former }]
    expect(await tokens({ ...plainRevoke, id: '101' })).toMatchObject({ code: 5 })
    store.reports = () => []
    expect(await tokens({ ...plainRevoke, id: '101' })).toMatchObject({ code: 0 })
  })

  it('refuses to revoke the last token: always under enforcement, otherwise unless --force is given', async () => {
    instance.add('pipespan')
    const enforced = await tokens({ ...plainRevoke, id: '101', force: true })
    expect(enforced).toMatchObject({ code: 5, err: expect.stringContaining('enforcement is on') as unknown })
    instance.enforced = false
    const plain = await tokens({ ...plainRevoke, id: '101' })
    expect(plain).toMatchObject({ code: 5, err: expect.stringContaining('repeat with --force') as unknown })
    expect(await tokens({ ...plainRevoke, id: '101', force: true })).toMatchObject({ code: 0 })
  })

  it('refuses to revoke a token that may be the one in use, unless --force is given', async () => {
    instance.add('pipespan')
    instance.add('pipespan')
    await writeFile(file, 'a value that no journal knows')
    const output = await tokens({ ...plainRevoke, id: '101' })
    expect(output).toMatchObject({ code: 5, err: expect.stringContaining('may be the one in use') as unknown })
    expect(await tokens({ ...plainRevoke, id: '101', force: true })).toMatchObject({ code: 0 })
  })

  it('refuses to revoke a token that is not listed', async () => {
    const output = await tokens({ ...plainRevoke, id: '7' })
    expect(output).toMatchObject({ code: 1, err: expect.stringContaining('no valid ingest token 7') as unknown })
  })
})

describe('the command `pipespan tokens rotate`', () => {
  it("prints a rotation's progress on standard error and its result on standard output", async () => {
    const { code, out, err } = await tokens({ ...rotate, target: target() })
    expect(code).toBe(0)
    expect(out).toMatch(/^Token 101 \([0-9a-f]{12}\) is in use; nothing revoked\.\n$/)
    expect(err).toContain('The target has the new token.\n')
    const json = await tokens({ ...rotate, target: target(), json: true })
    expect(JSON.parse(json.out)).toMatchObject({ outcome: 'rotated', tokenId: '102', revoked: ['101'], warnings: [] })
  })

  it('exits with 3 if a daemon does not report the new token, and with 0 if there is nothing to do', async () => {
    await tokens({ ...rotate, target: target() })
    expect(await tokens({ ...rotate, target: target(), maxAgeMs: 60_000 })).toMatchObject({ code: 0 })
    store.reports = () => [{ daemon: 'ci-1', tokenFingerprint: 'older' }]
    const kept = await tokens({ ...rotate, target: target() })
    expect(kept).toMatchObject({ code: 3, out: expect.stringContaining('ci-1 did not report it') as unknown })
    expect(instance.tokens).toHaveLength(2)
  })

  it('exits with 4 if another rotation of the same target is in progress', async () => {
    const both = await Promise.all([tokens({ ...rotate, target: target() }), tokens({ ...rotate, target: target() })])
    expect(both.map(output => output.code).sort()).toEqual([0, 4])
  })

  it('exits with 1 and a reason if a rotation cannot continue', async () => {
    expect(await tokens({ ...rotate, target: 'vault:x' })).toMatchObject({
      code: 1,
      err: '"vault:x" is not a target. Use file:/absolute/path or kubernetes:NAMESPACE/SECRET/KEY.\n',
    })
  })

  it("prints a rotation's plan in a dry run", async () => {
    const { code, out } = await tokens({ ...rotate, target: target(), dryRun: true })
    expect(code).toBe(0)
    expect(out).toContain('Create a token named "pipespan"')
    expect(instance.tokens).toHaveLength(0)
  })
})

describe('the command `pipespan enforcement`', () => {
  it('shows the enforcement state, and disables enforcement', async () => {
    expect((await enforcement('status')).out).toContain('Enforcement is on')
    expect((await enforcement('off')).out).toContain('Enforcement is off')
    expect(instance.enforced).toBe(false)
  })

  it("enables enforcement if the endpoint accepts the daemon's token", async () => {
    instance.enforced = false
    await tokens({ ...rotate, target: target() })
    expect(await enforcement('on')).toMatchObject({ code: 0 })
    expect(instance.enforced).toBe(true)
  })

  it('does not enable enforcement if the daemon has no token', async () => {
    instance.enforced = false
    expect(await enforcement('on')).toMatchObject({ code: 5, err: expect.stringContaining('has no token') as unknown })
    expect(instance.enforced).toBe(false)
  })

  it('disables enforcement again at once if the endpoint then rejects the token', async () => {
    instance.enforced = false
    await writeFile(file, 'a-dead-token')
    const output = await enforcement('on')
    expect(output).toMatchObject({ code: 5, err: expect.stringContaining('off again at once') as unknown })
    expect(output.err).not.toContain('a-dead-token')
    expect(instance.enforced).toBe(false)
  })

  it('does not enable enforcement if the endpoint does not respond', async () => {
    instance.enforced = false
    await writeFile(file, instance.add('pipespan').value)
    instance.misbehaveOnce('POST', '/v1/traces', { status: 503 })
    expect(await enforcement('on')).toMatchObject({
      code: 5,
      err: expect.stringContaining('responded with 503') as unknown,
    })
    expect(instance.enforced).toBe(false)
  })

  it('does not enable enforcement if the token of any destination is rejected, and names that destination', async () => {
    instance.enforced = false
    await writeFile(file, instance.add('pipespan').value)
    const prove: TokenSender['prove'] = async () => ({ kind: 'refused', status: 401 })
    others = [{ name: 'archive', tokens: () => [new Secret('an-expired-token')], prove }]
    expect(await enforcement('on')).toMatchObject({ code: 5, err: expect.stringContaining('"archive"') as unknown })
    expect(instance.enforced).toBe(false)
  })

  it('enables enforcement with --force', async () => {
    instance.enforced = false
    expect(await enforcement('on', true)).toMatchObject({ code: 0 })
    expect(instance.enforced).toBe(true)
  })
})
