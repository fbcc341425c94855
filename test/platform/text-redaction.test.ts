// Tests the redaction of jobs' texts: it removes all secrets of known forms, and leaves harmless texts unchanged.
import { linearPattern } from '../support/linear-pattern.ts'
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

/** Each form of secrets, with a function that makes a line of a log and the secret in it. */
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
  ['a password in quotes', () => within(`${some(8)} ${some(8)}`, value => `PASSWORD='${value}'`)],
  ['a header in an assignment', () => within(some(20), value => `api-key = x-api-key: ${value}`)],
  ['a bearer in an assignment', () => within(some(20), value => `token: Bearer ${value}`)],
  ['JSON within JSON', () => within(some(20), value => String.raw`"{\"password\":\"${value}\"}"`)],
  ['a list of variables', () => within(some(12), value => `{"name":"DB_PASSWORD","value":"${value}"}`)],
  ['user and password of curl', () => within(some(12), value => `$ curl -s -u ada:${value} https://example.com`)],
  [
    'user and password of curl without a blank',
    () => within(some(12), value => `curl -uada:${value} https://example.com`),
  ],
  ['the password of mysql', () => within(some(12), value => `$ mysql -h db -uroot -p${value} shop < dump.sql`)],
  ['the password of docker', () => within(some(12), value => `docker login -u ci -p ${value} registry.example.com`)],
  ['the password of helm', () => within(some(12), value => `helm registry login -u ci --password=${value} x.io`)],
  ['the password of sshpass', () => within(some(12), value => `sshpass -p '${value}' ssh deploy@10.0.0.1`)],
  ['an element', () => within(some(12), value => `  <password>${value}</password>`)],
  ['a CDATA section', () => within(some(12), value => `<db:apiKey id="1"><![CDATA[${value}]]></db:apiKey>`)],
  ['an attribute of XML', () => within(some(12), value => `<add key="Password" value="${value}" />`)],
  ['credentials of Docker', () => within(`${some(24)}==`, value => `{"auths":{"r.io":{"auth": "${value}"}}}`)],
  ['credentials of npm', () => within(some(24), value => `//registry.npmjs.org/:_authToken=${value}`)],
  ['.netrc in one line', () => within(some(12), value => `machine example.com login ci password ${value}`)],
  ['.netrc in several lines', () => within(some(12), value => `  password ${value}`)],
  ['cookies', () => within(some(24), value => `> Cookie: theme=dark; session=${value}`)],
  ['a new cookie', () => within(some(24), value => `< Set-Cookie: session=${value}; Path=/; HttpOnly`)],
  ['an account of Azure', () => within(`${some(86)}==`, value => `AccountName=a;AccountKey=${value};EndpointSuffix=x`)],
  ['a signature of Azure', () => within(some(40), value => `https://a.example.net/c?sv=2022&sig=${value}%3D&se=1`)],
  ['a connection string', () => within(some(12), value => `Server=db;Uid=sa;Pwd=${value};Encrypt=yes`)],
  ['a password with @', () => within(`${some(8)}@${some(8)}`, value => `https://ci:${value}@git.example.com/a.git`)],
  ['Hugging Face', () => plain(`hf_${some(34)}`)],
  ['Telegram', () => plain(`${some(9, '123456789')}:AA${some(33)}`)],
  ['Twilio', () => plain(`SK${some(32, hex)}`)],
  ['Bitbucket', () => plain(`ATBB${some(32)}`)],
  ['Grafana', () => plain(`glsa_${some(32)}_${some(8, hex)}`)],
  ['Databricks', () => plain(`dapi${some(32, hex)}`)],
  ['a glued JSON Web Token', () => plain(`eyJ-eyJ${some(30)}.eyJ${some(60)}.${some(43)}`)],
]

function plain(secret: string): readonly [string, string] {
  const around = [`Using ${secret} now`, `key=${secret}`, `"${secret}"`, `\u2713 ${secret}.`, `(${secret})`]
  return [around[Math.floor(random.between(0, around.length))] ?? secret, secret]
}

function within(secret: string, line: (value: string) => string): readonly [string, string] {
  return [line(secret), secret]
}

/** Lines of logs that contain no secret, though some look similar. */
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
]

describe('texts of jobs', () => {
  const redactText = createTextRedaction([linearPattern('ACME-[0-9a-f]{32}')])

  it(`lose all ${10 * shapes.length} secrets of ${shapes.length} forms`, () => {
    const left = shapes.flatMap(([name, make]) =>
      Array.from({ length: 10 }, make).flatMap(([line, secret]) => {
        const clean = redactText(line)
        const kept = [secret, secret.slice(0, 12), secret.slice(-12)].some(part => clean.includes(part))
        return kept ? [`${name}: ${clean}`] : []
      }),
    )
    expect(left).toEqual([])
  })

  it('keep everything that is not a secret', () => {
    expect(harmless.filter(line => redactText(line) !== line)).toEqual([])
  })

  it('keep the quotes and the text around a value', () => {
    expect(redactText('export DB_PASSWORD="ket tle" # old')).toBe('export DB_PASSWORD="[REDACTED]" # old')
    expect(redactText('api-key = x-api-key: 7c1b9e')).toBe('api-key = x-api-key: [REDACTED]')
    expect(redactText('a.io?token=abcdef&page=2')).toBe('a.io?token=[REDACTED]&page=2')
    expect(redactText('<password>kettle</password>')).toBe('<password>[REDACTED]</password>')
  })

  it('lose e-mail addresses and matches of configured patterns', () => {
    expect(redactText('Author: Ada Lovelace <ada@example.com>')).toBe('Author: Ada Lovelace <[REDACTED]>')
    expect(redactText(`licence ACME-${'0a'.repeat(16)} is valid`)).toBe('licence [REDACTED] is valid')
  })

  it('lose private keys, on one line or several, even if a key is cut off', () => {
    const isKey = createKeyWatch()
    const key = ['-----BEGIN OPENSSH PRIVATE KEY-----', some(64), some(64), '-----END OPENSSH PRIVATE KEY-----']
    expect(['before', ...key, 'after'].map(isKey)).toEqual([false, true, true, true, true, false])
    const inJson = JSON.stringify({ key: key.join('\n'), name: 'shop' })
    expect(redactText(inJson)).toBe('{"key":"[REDACTED]","name":"shop"}')
    expect(redactText(inJson.slice(0, 100))).toBe('{"key":"[REDACTED]')
  })
})

describe('a log that shows the variables of its job', () => {
  const shows = (lines: readonly string[]): boolean => {
    const isTraced = createDebugWatch()
    return lines.map(isTraced).at(-1) === true
  }
  it('is detected by variables in its first lines', () => {
    const traced = ['CI_JOB_ID', 'CI_PIPELINE_ID', 'CI_JOB_TOKEN']
    expect(shows(traced.map(name => `++ export ${name}=1`))).toBe(true)
    expect(shows(traced.map(name => `declare -x ${name}="1"`))).toBe(true)
    expect(shows(['CI_DEBUG_TRACE: "true"', 'x'])).toBe(true)
    expect(shows(['$ echo $CI_JOB_ID', 'CI_JOB_ID is 7', '$ docker build --build-arg CI_JOB_ID=7'])).toBe(false)
  })
})
