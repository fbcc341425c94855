// What leaves of texts of jobs: no secret of a known shape, and nearly all that is none.
import { describe, expect, it } from 'vitest'
import { createTextRedaction, createKeyWatch } from '../../src/platform/text-redaction.ts'
import { createDebugWatch } from '../../src/platform/job-log/debug-trace.ts'
import { Random } from '../../src/demo/platform/random.ts'

const random = new Random(20)
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const hex = '0123456789abcdef'
const some = (length: number, from = letters): string =>
  Array.from({ length }, () => from[Math.floor(random.between(0, from.length))] ?? 'x').join('')

/** Each makes the line of a log, and the secret in it. */
const shapes: readonly (readonly [name: string, make: () => readonly [line: string, secret: string]])[] = [
  ['a personal token', () => plain(`glpat-${some(20)}`)],
  ['a runner token', () => plain(`glrt-${some(20)}`)],
  ['a job token', () => plain(`glcbt-64_${some(20)}`)],
  ['a forge token', () => plain(`ghp_${some(36)}`)],
  ['a fine-grained forge token', () => plain(`github_pat_${some(22)}_${some(59)}`)],
  ['a registry token', () => plain(`npm_${some(36)}`)],
  ['a package index token', () => plain(`pypi-${some(80)}`)],
  ['a cloud key', () => plain(`AKIA${some(16, upper)}`)],
  ['an API key', () => plain(`AIza${some(35)}`)],
  ['an OAuth access token', () => plain(`ya29.${some(60)}`)],
  ['a chat token', () => plain(`xoxb-${some(11, '0123456789')}-${some(24)}`)],
  ['a payment key', () => plain(`sk_live_${some(24)}`)],
  ['a mail key', () => plain(`SG.${some(22)}.${some(43)}`)],
  ['a JSON Web Token', () => plain(`eyJ${some(30)}.eyJ${some(60)}.${some(43)}`)],
  ['a bearer header', () => within(some(40), value => `> Authorization: Bearer ${value}`)],
  [
    'a basic header',
    () => within(`${some(30)}==`, value => `curl -H "authorization: Basic ${value}" https://example.com`),
  ],
  ['a token header', () => within(some(24), value => `PRIVATE-TOKEN: ${value}`)],
  [
    'a password in an address',
    () => within(some(16), value => `Cloning into https://ci:${value}@git.example.com/a.git`),
  ],
  ['an assignment', () => within(some(24), value => `export DB_PASSWORD="${value}"`)],
  ['an option', () => within(some(18), value => `$ deploy --api-key ${value} --verbose`)],
  ['a field of JSON', () => within(some(32, hex), value => `{"client_secret": "${value}", "name": "shop"}`)],
  [
    'a parameter of an address',
    () => within(some(20), value => `GET https://example.com/v1?access_token=${value}&page=2`),
  ],
]

function plain(secret: string): readonly [string, string] {
  const around = [`Using ${secret} now`, `key=${secret}`, `"${secret}"`, `\u2713 ${secret}.`, `(${secret})`]
  return [around[Math.floor(random.between(0, around.length))] ?? secret, secret]
}

function within(secret: string, line: (value: string) => string): readonly [string, string] {
  return [line(secret), secret]
}

/** What logs of builds have in them, and what is no secret. */
const harmless: readonly string[] = [
  'Fetching changes with git depth set to 20...',
  'Checking out 3fdeda6b1c9e4c6f8a1d5e7b2c4f6a8d0e1b3c5d as detached HEAD (ref is main)...',
  'Using docker image sha256:b2c8f7e1a94d3c5b6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5 for node:24 with digest node@sha256:0011',
  '$ npm ci --no-audit --token-file /run/secrets/token',
  'added 240 packages, and audited 241 packages in 12s',
  'PASS src/tokens/rotation.test.ts (5.2 s)',
  '  ✓ a token is compared before the body is read (12 ms)',
  'Tokens: 12 passed, 12 total',
  'git clone git@git.example.com:acme/shop.git',
  'https://git.example.com/acme/shop/-/jobs/312400012',
  'Uploading artifacts as "archive" to coordinator... 201 Created  id=312400012 responseStatus=201 Created',
  'password: ***',
  'export API_TOKEN=$CI_JOB_TOKEN',
  'WARNING: Bearer of bad news: 3 tests are slow',
  'secret scanning found 0 leaks',
  'mvn -Dtest=AuthorizationTest verify',
  'Downloading from central: https://repo.example.com/org/junit/5.11.0/junit-5.11.0.pom',
  '2026-01-21 09:47:26 INFO  [main] c.e.shop.Application - Started in 4.2 seconds',
  'npm warn deprecated inflight@1.0.6: This module is not supported',
  'step 7/12 : COPY --from=build /app /app',
  ' ---> 9f1c2d3e4b5a',
  'E   AssertionError: assert 3 == 4',
  'Error: expected value at line 12, column 8 (src/main.rs:12:8)',
  'real 0m12.345s',
  'integrity sha512-9AKmjZ7mBvGQbAGWpHE8VfLkdAPcWUkzoXqrjRmjNWDbHwLj2zWDWzL8tZ9j3b7NqkZ1n2v3u0tQ==',
  'cache-key: node-modules-3fdeda6b1c9e4c6f8a1d5e7b2c4f6a8d-protected',
  'module github.com/acme/shop/internal/secretstore',
  'Successfully extracted cache',
]

describe('texts of jobs', () => {
  const redactText = createTextRedaction([/ACME-[0-9a-f]{32}/gu])

  it(`lose each of ${10 * shapes.length} secrets in ${shapes.length} shapes`, () => {
    const left = shapes.flatMap(([name, make]) =>
      Array.from({ length: 10 }, make).flatMap(([line, secret]) => {
        const clean = redactText(line)
        const kept = [secret, secret.slice(0, 12), secret.slice(-12)].some(part => clean.includes(part))
        return kept ? [`${name}: ${clean}`] : []
      }),
    )
    expect(left).toEqual([])
  })

  it('keep what is no secret', () => {
    expect(harmless.filter(line => redactText(line) !== line)).toEqual([])
  })

  it('lose e-mail addresses, and what the operator names', () => {
    expect(redactText('Author: Ada Lovelace <ada@example.com>')).toBe('Author: Ada Lovelace <[REDACTED]>')
    expect(redactText(`licence ACME-${'0a'.repeat(16)} is valid`)).toBe('licence [REDACTED] is valid')
  })

  it('lose private keys, over lines and within one, also where a key is cut off', () => {
    const isKey = createKeyWatch()
    const key = ['-----BEGIN OPENSSH PRIVATE KEY-----', some(64), some(64), '-----END OPENSSH PRIVATE KEY-----']
    expect(['before', ...key, 'after'].map(isKey)).toEqual([false, true, true, true, true, false])
    const inJson = JSON.stringify({ key: key.join('\n'), name: 'shop' })
    expect(redactText(inJson)).toBe('{"key":"[REDACTED]","name":"shop"}')
    expect(redactText(inJson.slice(0, 100))).toBe('{"key":"[REDACTED]')
  })

  it('take time in proportion to their length, whatever is in them', () => {
    const cruel = [
      '-'.repeat(16_384),
      'a@'.repeat(8_192),
      'a.'.repeat(8_192),
      `token${' '.repeat(16_000)}`,
      'x:'.repeat(8_000),
    ]
    const more = ['eyJ'.repeat(5_000), 'secret'.repeat(2_700), '://'.repeat(5_000), 'authorization:'.repeat(1_000)]
    const begun = process.cpuUsage()
    for (const text of [...cruel, ...more]) redactText(text)
    expect(process.cpuUsage(begun).user / 1e6).toBeLessThan(10)
  })
})

describe('a log that shows the variables of its job', () => {
  const shows = (lines: readonly string[]): boolean => {
    const isTraced = createDebugWatch()
    return lines.map(isTraced).at(-1) === true
  }
  it('is recognised by its first lines', () => {
    const traced = ['CI_JOB_ID', 'CI_PIPELINE_ID', 'CI_JOB_TOKEN']
    expect(shows(traced.map(name => `++ export ${name}=1`))).toBe(true)
    expect(shows(traced.map(name => `declare -x ${name}="1"`))).toBe(true)
    expect(shows(['CI_DEBUG_TRACE: "true"', 'x'])).toBe(true)
    expect(shows(['$ echo $CI_JOB_ID', 'CI_JOB_ID is 7', '$ docker build --build-arg CI_JOB_ID=7'])).toBe(false)
  })
})
