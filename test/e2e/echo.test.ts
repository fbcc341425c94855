// Tests a backend and a platform that echo what they receive, in various encodings. No secret appears in the log, on a page, in a command's output or
// in the store.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { storedBytes } from '../support/stored-bytes.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import { Daemon } from './daemon.ts'

const secrets = {
  header: 'planted header, 100% & <more>/',
  user: `planted:pass-word/1+1`,
  platform: 'planted-platform-token',
} as const

const fixtures = path.join(import.meta.dirname, '..', 'fixtures', 'webhooks')
const fixture = readFileSync(path.join(fixtures, 'pipeline-failed.json'), 'utf8')

/** `core` is the part of the encoded secret from which common tools can decode it; the default is all of `encoded`. */
const encodings: Readonly<Record<string, (text: string) => { encoded: string; core?: string }>> = {
  plain: text => ({ encoded: text }),
  percent: text => ({ encoded: encodeURIComponent(text) }),
  json: text => ({ encoded: JSON.stringify(text) }),
  html: text => ({ encoded: text.replace(/[&<>]/g, one => `&#${one.charCodeAt(0)};`) }),
  hex: text => ({ encoded: Buffer.from(text).toString('hex') }),
  base64: text => base64('', text),
  'base64 behind one': text => base64('x', text),
  'base64 behind two': text => base64('xy', text),
}

/** `core` omits the first and last characters of the encoding, because they depend on the text around the secret. */
function base64(before: string, text: string): { encoded: string; core: string } {
  const encoded = Buffer.from(`${before}${text}`).toString('base64')
  return { encoded, core: encoded.slice(4, -4) }
}

function repeated(...texts: readonly string[]): string {
  const all = texts.flatMap(text => Object.values(encodings).map(encode => encode(text).encoded))
  return JSON.stringify({ message: all.join(' ') })
}

it('never shows secrets that a backend or a platform echoes, in any encoding', async () => {
  const [refusing, ailing, platform] = await Promise.all([
    OtlpReceiver.start(),
    OtlpReceiver.start(),
    RestApi.start({ state: new PlatformState(), now: () => Date.now() }),
  ])
  onTestFinished(async () => {
    await Promise.all([refusing.close(), ailing.close(), platform.close()])
  })
  const basic = `Basic ${Buffer.from(secrets.user).toString('base64')}`
  const repeats = (status: number) => ({
    fault: {
      kind: 'status' as const,
      status,
      headers: { 'content-type': 'application/json' },
      body: repeated(secrets.header, secrets.user, basic),
    },
  })
  ailing.misbehave(repeats(503))
  platform.misbehave = () => ({
    status: 401,
    headers: { 'content-type': 'application/json' },
    body: repeated(secrets.platform),
  })
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(
    file,
    `destinations:\n  - { name: ailing, endpoint: "${ailing.url}", headers: { x-key: "${secrets.header}" } }\n`,
  )
  const daemon = await Daemon.start({
    PIPESPAN_CONFIG: file,
    PIPESPAN_LOG_LEVEL: 'trace',
    OTEL_LOG_LEVEL: 'all',
    PIPESPAN_SELF_TELEMETRY: 'true',
    OTEL_METRIC_EXPORT_INTERVAL: '300',
    OTEL_METRIC_EXPORT_TIMEOUT: '200',
    OTEL_EXPORTER_OTLP_ENDPOINT: refusing.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-key=${encodeURIComponent(secrets.header)},authorization=${encodeURIComponent(basic)}`,
    PIPESPAN_PLATFORM_URL: platform.url,
    PIPESPAN_PLATFORM_TOKEN: secrets.platform,
    PIPESPAN_POLL_PROJECTS: '301',
    PIPESPAN_POLL_INTERVAL: '1s',
  })
  const post = async (id: number): Promise<void> => {
    await daemon.post(fixture.replaceAll('23904', String(id)), { 'x-service-event': 'Pipeline Hook' })
  }
  await post(1)
  // Wait for a pipeline span, because the daemon sends its own spans to the same backend.
  await refusing.until(spans => spans.some(({ name }) => name.startsWith('pipeline: ')))
  // Until a backend has accepted something, the daemon does not treat its rejections as permanent.
  refusing.misbehave(repeats(400))
  await post(2)
  await daemon.process.logged('a dead letter')
  await daemon.process.logged('they stay pending in the store')
  const page = async (at: string): Promise<string> => (await fetch(daemon.adminUrl + at)).text()
  await expect.poll(() => page('/')).toContain('does not accept the token')
  const outputs: string[] = []
  for (const at of ['/', '/exports', '/exports/3', '/pipelines', '/sources', '/api/v1/exports', '/api/v1/overview']) {
    outputs.push(await page(at))
  }
  for (const command of [['doctor'], ['dead-letters', 'list', '--json'], ['dead-letters', 'show', '1']]) {
    const { stdout, stderr } = await daemon.command(...command)
    outputs.push(stdout, stderr)
  }
  const places = { log: daemon.output, outputs: outputs.join('\n'), files: storedBytes(path.dirname(daemon.storeFile)) }
  for (const content of Object.values(places)) expect(content).toContain('[secret]')
  const searched = { ...secrets, password: secrets.user.slice(8), credentials: basic.slice(6) }
  const found = Object.entries(places).flatMap(([place, content]) =>
    Object.entries(searched).flatMap(([name, secret]) =>
      Object.entries(encodings).flatMap(([how, encode]) => {
        const { encoded: whole, core = whole } = encode(secret)
        return content.toLowerCase().includes(core.toLowerCase()) ? [`${name} in ${place}, ${how}`] : []
      }),
    ),
  )
  expect(found).toEqual([])
})
