// Tests how commands print untrusted text: it cannot control the terminal, change the direction of text, hide text, or begin a new line.
import { execFileSync } from 'node:child_process'
import { createServer, type RequestListener } from 'node:http'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { closeAfterTest, listen, temporaryFolder } from '../support/after-test.ts'
import { commandClient } from '../../src/commands/platform.ts'
import { configurationToKeep } from '../../src/commands/try-settings.ts'
import { findTarget, targetOf } from '../../src/commands/try-target.ts'
import { openSqlite } from '../support/stores.ts'
import { complain, print, printJson, table } from '../../src/lib/terminal.ts'
import { runCommand } from '../e2e/run-command.ts'

/** Hostile text with colours, a link, a clear-screen sequence, various line endings, reversed and invisible text, and a shell command. */
const hostile =
  'a\u001b[31mb\u001b]8;;https://evil.example\u0007c\u001b]8;;\u0007\u001b[2J\u009b1Ad\r\n✓ all: is fine\u2028\u202ecod\u2066\u200b\ufeff\u00ad$(touch x)\'"`id`'
const controls = /[\p{Cf}\p{Cs}\u2028\u2029]|[^\P{Cc}\n\t]/u
const forged = /^\s*✓ all/m

function expectPlain(printed: string): void {
  expect(printed).not.toMatch(controls)
  expect(printed).not.toMatch(forged)
}

async function server(answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer(answer))}`
}

describe("untrusted text in a command's output", () => {
  it('prints untrusted text without control characters in lines, errors, tables and JSON', async () => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const terminal = { stdout, stderr, env: {} }
    print(terminal, `x ${hostile.replace('✓', 'o')}`)
    complain(terminal, `x ${hostile.replace('✓', 'o')}`)
    print(terminal, table([['NAME'], [hostile]]))
    printJson(terminal, { name: hostile })
    stdout.end()
    stderr.end()
    const [out, err] = [await text(stdout), await text(stderr)]
    expectPlain(out + err)
    expect(out).toContain('abcd ✓ all: is fine cod$(touch x)')
    expect(JSON.parse(out.trim().split('\n').at(-1) ?? '')).toEqual({ name: hostile })
  })

  it.each(['pipeline-failed.json', 'job-failed.json'])(
    'prints the mapped payload %s without control characters',
    async name => {
      const folder = temporaryFolder()
      const given = readFileSync(path.join(import.meta.dirname, '..', 'fixtures', 'webhooks', name), 'utf8')
      const spoilt = JSON.stringify(JSON.parse(given), (key, value: unknown) =>
        typeof value === 'string' && /name|title|message|ref|stage|description|path|environment/.test(key)
          ? `${value}${hostile}`
          : value,
      )
      const file = path.join(folder, 'payload.json')
      writeFileSync(file, spoilt)
      for (const more of [['--explain'], ['--json']]) {
        const { stdout, stderr, code } = await runCommand(['map', file, ...more], { PIPESPAN_WEBHOOK_TOKEN: 'x' })
        expect(code).toBe(0)
        expectPlain(stdout + stderr)
      }
    },
  )

  it("prints a platform's error message without control characters in the doctor", async () => {
    const url = await server((_, answer) =>
      answer.writeHead(403, { 'content-type': 'application/json' }).end(JSON.stringify({ message: hostile })),
    )
    const env = {
      PIPESPAN_WEBHOOK_TOKEN: 'x',
      PIPESPAN_PLATFORM_URL: url,
      PIPESPAN_PLATFORM_TOKEN: 'a-token',
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
    }
    for (const more of [[], ['--json']]) {
      const { stdout } = await runCommand(['doctor', ...more], env)
      expect(stdout).toContain('cod')
      expectPlain(stdout)
    }
  })

  it('prints an undecodable delivery without control characters', async () => {
    const file = path.join(temporaryFolder(), 'pipespan.db')
    const store = openSqlite(file, { now: () => Date.now(), maxSize: 2 ** 30 })
    const body = Buffer.from(JSON.stringify({ a: hostile }))
    const kept = {
      event: hostile,
      source: 'webhook',
      receivedAt: Date.now(),
      body,
      reason: hostile,
      version: '1',
    } as const
    await store.runs.takeIn({ keys: [undefined], plan: () => ({ work: [], undecodable: [kept] }) })
    const [item] = await store.quarantine.list(1)
    await store.close()
    const env = { PIPESPAN_WEBHOOK_TOKEN: 'x', PIPESPAN_STORE_URL: `sqlite:${file}` }
    for (const args of [['list'], ['list', '--json'], ['show', String(item!.id)]]) {
      const { stdout, code } = await runCommand(['inbox', ...args], env)
      expect(code).toBe(0)
      expectPlain(stdout)
    }
  })
})

describe('the commands that `pipespan try` prints for copying', () => {
  it("prints a project's ID if its path has control characters, and rejects such a path as an argument", async () => {
    const url = await server((_, answer) =>
      answer
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ id: 7, path_with_namespace: `team/${hostile}` })),
    )
    const client = closeAfterTest(commandClient(300, { url, token: () => 'x', tokenType: 'private', concurrency: 1 }))
    const found = await findTarget(client, { url, name: 'team/shop' })
    expect(found.name).toBe('7')
    for (const hidden of ['%1b[31m', '%0aexport X=1', '%e2%80%ae', '\u200b'])
      expect(() => targetOf(`${url}/team${hidden}`, undefined)).toThrow('Give a project or group')
  })

  it.each(['team/$(touch x)', "team/'; touch x; '", 'team/`touch x`', 'team/!!x', '-rf'])(
    'prints commands that are safe in a shell for a group named %j',
    name => {
      const [stdout, folder] = [new PassThrough(), temporaryFolder()]
      mkdirSync(path.join(folder, 'store'))
      const block = configurationToKeep(
        {},
        { url: 'https://git.example.com', found: { is: 'group', name }, kept: path.join(folder, 'store') },
      )
      print({ stdout, stderr: stdout, env: {} }, block)
      const printed = String(stdout.read())
      expectPlain(printed)
      const lines = printed.split('\n').filter(line => /^ {2}export (?!PIPESPAN_PLATFORM_TOKEN)/.test(line))
      const script = `${lines.join('\n')}\nprintf %s "$PIPESPAN_POLL_GROUPS"; ls -A`
      expect(execFileSync('sh', ['-c', script], { cwd: folder, encoding: 'utf8' })).toMatch(/store\n$/)
      expect(execFileSync('sh', ['-c', 'ls -A'], { cwd: folder, encoding: 'utf8' })).toBe('store\n')
    },
  )
})
