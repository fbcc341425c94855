import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileWith, folder } from './given.ts'
import { runCommand } from '../../e2e/run-command.ts'
import type { Environment } from '../../../src/daemon/configuration/variables.ts'

async function check(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { code, stdout: out, stderr: err } = await runCommand(['config', 'check', ...args], env)
  return { code, out, err }
}

it('accepts the example file without warnings', async () => {
  const done = await check(['config/pipespan.example.yaml'])
  expect(done).toEqual({ code: 0, out: 'The configuration is valid.\n', err: '' })
})

describe('the example configurations', () => {
  const examples = readdirSync('config/examples')

  it('cover the poller, token rotation and GitLab', () => {
    expect(examples).toEqual(expect.arrayContaining(['gitlab.yaml', 'poller.yaml', 'rotation.yaml']))
  })

  it.each(examples)('accepts the example %s without warnings once its secrets exist', async name => {
    const secrets = folder()
    const text = readFileSync(path.join('config/examples', name), 'utf8')
    const named = [...text.matchAll(/^ *\w+_file: (\S+)$/gm)].map(([, file = '']) => file)
    expect(named.length).toBeGreaterThan(0)
    for (const file of named) {
      const secret = file.endsWith('signing-token') ? 'whsec_c2VjcmV0' : 'a-secret-of-this-test'
      writeFileSync(path.join(secrets, path.basename(file)), secret)
    }
    const file = fileWith(text.replaceAll(/(?<=_file: )\S*\//g, `${secrets}/`))
    expect(await check([file])).toMatchObject({ code: 0, err: '' })
  })
})

it('prints all faults and warnings, each on its own line, and exits with 2', async () => {
  const file = fileWith('settle: soon\nwebhook: { token: "hunter2\\n" }\n')
  expect(await check([file], { PIPESPAN_SETLE: '1s' })).toEqual({
    code: 2,
    out: '',
    err:
      'warning: PIPESPAN_SETLE: Unknown variable. Did you mean PIPESPAN_SETTLE?\n' +
      `${file}:1:9: settle: "soon" is not a duration. Write a number with its unit, such as 250ms, 5s, 1h or 7d.\n` +
      `${file}:2:19: webhook.token: The secret contains a control character. Copy it again, as one line of printable ASCII.\n` +
      '2 faults in the configuration.\n',
  })
})

it('prints everything as JSON for scripts, without secrets', async () => {
  const file = fileWith('settle: soon\n')
  const bad = await check([file, '--json'], { PIPESPAN_SETLE: '1s' })
  expect([bad.code, bad.err]).toEqual([2, ''])
  expect(JSON.parse(bad.out)).toMatchObject({
    ok: false,
    faults: [{ source: `${file}:1:9`, setting: 'settle', what: '"soon" is not a duration.' }],
    warnings: expect.arrayContaining([expect.stringContaining('Did you mean PIPESPAN_SETTLE?')]) as unknown,
  })
  const good = await check(['--json', '--show'], { PIPESPAN_WEBHOOK_TOKEN: 'hunter2' })
  expect(good.out).not.toContain('hunter2')
  const token = { setting: 'webhook.token', value: '[secret]', source: 'PIPESPAN_WEBHOOK_TOKEN' }
  expect(JSON.parse(good.out)).toMatchObject({ ok: true, settings: expect.arrayContaining([token]) as unknown })
})

it('prints the effective settings and their origin, without secrets', async () => {
  const file = fileWith('webhook: { token: hunter2 }\nprojects: { include: [team/*, "shop/{a,b}"] }\n')
  const { code, out } = await check(['--show'], { PIPESPAN_CONFIG: file, PIPESPAN_SETTLE: '90s' })
  expect(code).toBe(0)
  expect(out.split('\n')).toEqual(
    expect.arrayContaining([
      'settle = 90s (PIPESPAN_SETTLE)',
      'listen = 127.0.0.1:8080 (default)',
      `webhook.token = [secret] (${file}:1:19)`,
      `projects.include = team/*,shop/{a,b} (${file}:2:22)`,
      'refs.include = none: all (default)',
    ]),
  )
  expect(out).not.toContain('hunter2')
})

it('prints how many requests to the platform each optional setting causes', async () => {
  const env = { PIPESPAN_JOB_SECTIONS: 'failed,slow', PIPESPAN_PLATFORM_URL: 'https://git.example.com' }
  const printed = async (more: Environment): Promise<string> => (await check([], { ...env, ...more })).out
  expect(await printed({ PIPESPAN_PLATFORM_TOKEN: 'a-token' })).toContain(
    '(PIPESPAN_JOB_SECTIONS): 1 request for each job that failed or that was slow, in addition to 2 for each pipeline',
  )
  expect(await printed({ PIPESPAN_PLATFORM_TOKEN: 'a-token', PIPESPAN_TESTS: 'true' })).toContain(
    '(PIPESPAN_TESTS): 1 request for each job with a JUnit report',
  )
  expect(await printed({ PIPESPAN_PLATFORM_TOKEN: 'a-token', PIPESPAN_REPORTS: 'findings,metrics' })).toContain(
    '(PIPESPAN_REPORTS): 1 request for each report of metrics, findings',
  )
  expect(await printed({ PIPESPAN_PLATFORM_TOKEN: 'a-token', PIPESPAN_AUDIT: 'team,shop' })).toContain(
    '(PIPESPAN_AUDIT): 2 requests a minute, and 1 more for each 100 events',
  )
  expect(await printed({})).toContain('nothing is read without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN')
})

it('accepts paths of files with spans that jobs record themselves, and prints how many requests they cost', async () => {
  const paths = 'a/b.otlp.json,c.otlp.jsonl'
  const url = { PIPESPAN_PLATFORM_URL: 'https://git.example.com', PIPESPAN_PLATFORM_TOKEN: 'a-token' }
  expect((await check([], { ...url, PIPESPAN_JOB_SPANS: paths })).out).toContain(
    'Spans of jobs (PIPESPAN_JOB_SPANS): 2 requests for each job with artifacts, in addition to 2 for each pipeline',
  )
  for (const wrong of ['/a.otlp.json', '../a.otlp.json', 'a//b.otlp.json', 'a.json', 'a*.otlp.json']) {
    expect((await check([], { PIPESPAN_JOB_SPANS: wrong })).err, wrong).toContain('is not a path that ends in')
  }
})

it('requires a list of the keys to export if dotenv reports are read', async () => {
  expect((await check([], { PIPESPAN_REPORTS: 'dotenv' })).err).toContain('no key is allowed to be exported')
  expect((await check([], { PIPESPAN_REPORTS: 'dotenv', PIPESPAN_DOTENV_KEYS: 'A,B_*' })).code).toBe(0)
})

it('accepts regular expressions with commas, and rejects those that match the empty string', async () => {
  expect((await check([], { PIPESPAN_REDACT: 'a{2,3},[b,c]d' })).code).toBe(0)
  expect((await check([], { PIPESPAN_REDACT: 'x*' })).err).toContain('"x*" can match an empty string. Use')
  expect((await check([], { PIPESPAN_JOB_LOGS: 'none,all' })).err).toContain(
    'none cannot be combined with other values',
  )
})
