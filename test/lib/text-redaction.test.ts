// Tests the redaction of text from jobs: it removes secrets of all known forms, and leaves harmless text unchanged.
import { linearPattern } from '../support/linear-pattern.ts'
import { describe, expect, it } from 'vitest'
import { createTextRedaction, createKeyWatch, maxSecret, redactedTo } from '../../src/lib/text-redaction.ts'
import { createDebugWatch } from '../../src/platform/job-log/read-log.ts'
import { secretForms, some } from './secret-forms.ts'

/** Log lines that contain no secret, although some of them look as if they did. */
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
  'docker run --rm -u 1000:1000 -v /builds:/builds node:24 npm test',
  'Author: Ada Lovelace',
  'cookies: 3 found, cookie banner tested',
  'Cookie: 3 tests passed',
  'git push -u origin main',
  'login succeeded, password unchanged',
  'docker login --password-stdin registry.example.com',
  'mysql -h db -P 3306 --protocol=tcp shop',
  'auth: oidc',
  'PWD=/builds/acme/shop',
  '<password/>',
  '<password></password>',
  '<tokens>',
  'ports: 8080:80, 12:34:56.789',
  'uid 123456:node',
  'eyJhbGciOiJIUzI1NiJ9 is only a header',
  'tar -xzf a.tar.gz -C /opt && rsync -avu host:/srv/data .',
  'password = $DB_PASSWORD',
  'token: ${{ secrets.TOKEN }}',
  'SKIPPED 0123456789abcdef',
  'https://example.com:8443/path@2x.png',
  'postgres://db.example.com:5432/shop',
  'test_highs_and_lows_of_every_market_day_of_the_year',
  'task-0123456789abcdef0123456789abcdef and desk-0123456789abcdef0123456789abcdef',
  'berlin_api_0123456789abcdef0123456789abcdef',
  'PASS: tests/unit/lexer-test',
  'pass 12 of 40, --pass-through enabled, http 200 OK -a b',
  'tests: {"pass": 12, "fail": 0}, bypass=enabled',
  'OLDPWD=/builds/acme/shop',
  'src/main.rs:1234:12:unused-variable',
  'fe80:1234:abcd:beef:cafe:1234:5678:9abc',
  'The default password must be changed at the first login',
  'Authorization: none',
  'GET /files?path=%2Fbuilds%2Facme%2Fshop&next=%2Flogin%3Fpage%3D2 200',
  String.raw`C:\builds\new\tools\retry\x64`,
  String.raw`{"message":"first\nsecond\tthird","at":"\u001b[31mred\u001b[0m"}`,
  '<failure message="&quot;a&quot; &lt; &quot;b&quot;"/>',
  'curl -sSLo out.tgz -u1000:1000 https://example.com/a.tgz',
]

const digits = '0123456789abcdef'
/** Generators of ordinary names that look random. */
const names: readonly (() => string)[] = [
  () => some(40, digits),
  () => `sha256:${some(64, digits)}`,
  () => [8, 4, 4, 4, 12].map(length => some(length, digits)).join('-'),
  () => `artifact-${Buffer.from(some(48)).toString('base64')}.zip`,
  () => `cache_${some(43, 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')}.tar`,
  () => `registry.example.com/acme/shop@sha256:${some(64, digits)}`,
  () => `integrity sha512-${Buffer.from(some(64)).toString('base64')}`,
  () => `v1.2.3-${some(8, digits)}+build.${some(12, '0123456789')}`,
]

describe('the redaction of text from jobs', () => {
  const redactText = createTextRedaction([linearPattern('ACME-[0-9a-f]{32}')])

  it(`removes all ${10 * secretForms.length} secrets of ${secretForms.length} forms`, () => {
    const left = secretForms.flatMap(([name, make]) =>
      Array.from({ length: 10 }, make).flatMap(([line, secret]) => {
        const clean = redactText(line)
        const kept = [secret, secret.slice(0, 12), secret.slice(-12)].some(part => clean.includes(part))
        return kept ? [`${name}: ${clean}`] : []
      }),
    )
    expect(left).toEqual([])
  })

  it('redacts only secrets in text from jobs, and leaves the rest unchanged', () => {
    expect(harmless.filter(line => redactText(line) !== line)).toEqual([])
  })

  it('leaves hashes, UUIDs, digests and base64 names unchanged', () => {
    const lines = names.flatMap(name => Array.from({ length: 500 }, () => `Using ${name()} for /builds/${name()}/a`))
    expect(lines.filter(line => redactText(line) !== line)).toEqual([])
  })

  it('preserves the quotes and the text around a redacted value', () => {
    expect(redactText('export DB_PASSWORD="ket tle" # old')).toBe('export DB_PASSWORD="[REDACTED]" # old')
    expect(redactText('api-key = x-api-key: 7c1b9e')).toBe('api-key = x-api-key: [REDACTED]')
    expect(redactText('a.io?token=abcdef&page=2')).toBe('a.io?token=[REDACTED]&page=2')
    expect(redactText('<password>kettle</password>')).toBe('<password>[REDACTED]</password>')
  })

  it('removes e-mail addresses and matches of configured patterns', () => {
    expect(redactText('Author: Ada Lovelace <ada@example.com>')).toBe('Author: Ada Lovelace <[REDACTED]>')
    expect(redactText(`licence ACME-${'0a'.repeat(16)} is valid`)).toBe('licence [REDACTED] is valid')
  })

  it('removes private keys, on one line or several, even if a key is truncated', () => {
    const isKey = createKeyWatch()
    const key = ['-----BEGIN OPENSSH PRIVATE KEY-----', some(64), some(64), '-----END OPENSSH PRIVATE KEY-----']
    expect(['before', ...key, 'after'].map(isKey)).toEqual([false, true, true, true, true, false])
    const inJson = JSON.stringify({ key: key.join('\n'), name: 'shop' })
    expect(redactText(inJson)).toBe('{"key":"[REDACTED]","name":"shop"}')
    expect(redactText(inJson.slice(0, 100))).toBe('{"key":"[REDACTED]')
  })
})

describe('text that is redacted and then truncated', () => {
  const redactText = createTextRedaction([])
  const key = `-----BEGIN PRIVATE KEY-----\n${some(1_900)}\n-----END PRIVATE KEY-----`
  const truncatedTo = (limit: number, text: string): string =>
    redactedTo(limit, text.padEnd(limit + maxSecret, ' and so on').slice(0, limit + maxSecret), redactText)

  it('keeps the beginning up to a large secret', () => {
    expect(truncatedTo(100, key)).toBe('[REDACTED]')
    expect(truncatedTo(100, `key = ${key}`)).toBe('key = [REDACTED]')
    expect(truncatedTo(100, `${'a '.repeat(80)}${key}`)).toBe('a '.repeat(50))
    expect(truncatedTo(1_000, `${'a '.repeat(50)}${key}`)).toBe(`${'a '.repeat(50)}[REDACTED]`)
  })

  it('does not show half a secret at the end, wherever a secret before it was removed', () => {
    const cut = createTextRedaction([linearPattern('key<[a-z]*>')])
    for (const before of [0, 50, 99, 1_000]) {
      const text = `${'a '.repeat(before)}${key} key<${'x'.repeat(200)}`
      const shown = redactedTo(text.length - maxSecret, text, cut)
      expect(shown).toMatch(/^(a )*\[REDACTED\]$/)
    }
  })
})

describe("a job log that prints the job's variables", () => {
  const shows = (lines: readonly string[]): boolean => {
    const isTraced = createDebugWatch()
    return lines.map(isTraced).at(-1) === true
  }
  it("detects from a log's first lines that the log prints the job's variables", () => {
    const traced = ['CI_JOB_ID', 'CI_PIPELINE_ID', 'CI_JOB_TOKEN']
    expect(shows(traced.map(name => `++ export ${name}=1`))).toBe(true)
    expect(shows(traced.map(name => `declare -x ${name}="1"`))).toBe(true)
    expect(shows(['CI_DEBUG_TRACE: "true"', 'x'])).toBe(true)
    expect(shows(['$ echo $CI_JOB_ID', 'CI_JOB_ID is 7', '$ docker build --build-arg CI_JOB_ID=7'])).toBe(false)
  })
})
