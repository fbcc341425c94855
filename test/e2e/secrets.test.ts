// Tests that secrets do not leak. They are planted in every input that may contain one, and must not appear in a log, a response, an export, a
// command's output, or the store.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { storedBytes } from '../support/stored-bytes.ts'
import { Daemon } from './daemon.ts'

const secrets = {
  token: 'planted-webhook-token',
  signingToken: `whsec_${Buffer.from('planted-signing-secret-32-bytes!').toString('base64')}`,
  bearer: 'planted-bearer-token',
  header: 'planted-header-value',
  secondBearer: 'planted-second-bearer',
  secondHeader: 'planted-second-header',
  variable: 'planted-variable-value',
  variableOfKept: 'planted-variable-of-kept',
  guessed: 'planted-guess-of-a-token',
} as const

const fixture = readFileSync(
  path.join(import.meta.dirname, '..', 'fixtures', 'webhooks', 'pipeline-failed.json'),
  'utf8',
)

function withVariable(value: string, change: Record<string, unknown> = {}): string {
  const payload = JSON.parse(fixture) as { object_attributes: Record<string, unknown>; variables?: unknown }
  const variables = [{ key: 'DEPLOY_PASSWORD', value }]
  Object.assign(payload.object_attributes, { variables, ...change })
  return JSON.stringify({ ...payload, variables })
}

it('never shows a planted secret in any response, command or failure, even at log level trace', async () => {
  const [receiver, second] = await Promise.all([OtlpReceiver.start(), OtlpReceiver.start()])
  onTestFinished(async () => {
    await Promise.all([receiver.close(), second.close()])
  })
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  const headers = `{ x-api-key: ${secrets.secondHeader} }`
  writeFileSync(
    file,
    `destinations:\n  - { name: second, endpoint: "${second.url}", headers: ${headers}, token: ${secrets.secondBearer} }\n`,
  )
  // The backends reject every request and echo its content in their response.
  const echo = {
    message: `${secrets.bearer} ${secrets.header}`,
    headers: { 'retry-after': '1', 'x-key': secrets.header },
  }
  receiver.misbehave({ fault: { kind: 'status', status: 401, ...echo }, times: 1 })
  receiver.misbehave({ fault: { kind: 'status', status: 503, ...echo }, times: 1 })
  const secondEcho = `${secrets.secondBearer} ${secrets.secondHeader}`
  second.misbehave({ fault: { kind: 'status', status: 400, message: secondEcho } })
  const daemon = await Daemon.start({
    PIPESPAN_CONFIG: file,
    PIPESPAN_LOG_LEVEL: 'trace',
    PIPESPAN_WEBHOOK_TOKEN: secrets.token,
    PIPESPAN_WEBHOOK_SIGNING_TOKEN: secrets.signingToken,
    SERVICE_OBSERVABILITY_TOKEN: secrets.bearer,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-tenant=${secrets.header}`,
  })
  const outputs: string[] = []
  const post = async (body: string, change: Record<string, string> = {}): Promise<void> => {
    const answer = await daemon.post(body, {
      'x-service-event': 'Pipeline Hook',
      'x-service-token': secrets.token,
      ...change,
    })
    outputs.push(JSON.stringify([...answer.headers]), await answer.text())
  }
  await post(withVariable(secrets.variable))
  await post(withVariable(secrets.variableOfKept, { id: null }))
  await post(`not JSON: ${secrets.variableOfKept}`)
  await post(fixture, { 'x-service-token': secrets.guessed })
  await post(fixture, { 'webhook-id': 'a', 'webhook-timestamp': '1', 'webhook-signature': `v1,${secrets.guessed}` })
  await daemon.process.logged('a delivery is quarantined')
  await receiver.until(spans => spans.length > 0)
  await second.until((_spans, { requests }) => requests.length > 0)
  daemon.signal('SIGHUP')
  await daemon.process.logged('secrets reloaded')
  for (const url of [daemon.url, daemon.adminUrl]) {
    for (const page of ['/healthz', '/readyz', '/', '/metrics', '/nothing'])
      outputs.push(await (await fetch(url + page)).text())
  }
  const commands = [
    ['config', 'check', '--show'],
    ['inbox', 'list'],
    ['inbox', 'show', '1'],
    ['dead-letters', 'list', '--json'],
  ]
  for (const command of commands) {
    const { stdout, stderr } = await daemon.command(...command)
    outputs.push(stdout, stderr)
  }
  expect(await daemon.stop()).toEqual({ code: 0, signal: null })
  for (const { headers: sent } of receiver.requests) {
    expect(sent).toMatchObject({ authorization: `Bearer ${secrets.bearer}`, 'x-tenant': secrets.header })
  }

  const bigint = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)
  const exported = JSON.stringify([receiver.spans, second.requests.map(({ spans }) => spans)], bigint)
  const stored = rowsOf(daemon.storeFile)
  const places = {
    log: daemon.output,
    answers: outputs.join('\n'),
    exported,
    stored,
    files: storedBytes(path.join(daemon.folder, 'store')),
  }
  expect(places.log).toContain('pipespan starts')
  expect(places.stored).toContain('23904')
  const found = Object.entries(places).flatMap(([place, content]) =>
    Object.entries(secrets).flatMap(([name, secret]) => (content.includes(secret) ? [`${name} in ${place}`] : [])),
  )
  expect(found).toEqual([])
})

/** Returns every row of every table as text. */
function rowsOf(file: string): string {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all() as { name: string }[]
    const rows = tables.flatMap(({ name }) => database.prepare(`SELECT * FROM "${name}"`).all())
    return JSON.stringify(rows, (_key, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    )
  } finally {
    database.close()
  }
}
