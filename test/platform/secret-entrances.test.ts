// Tests each place where text from outside enters the daemon. There, secrets are redacted and control sequences are removed, in whatever way the text
// disguises them.
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { closeAfterTest, listen } from '../support/after-test.ts'
import { auditAttributes } from '../../src/platform/rest/audit.ts'
import { cleanCollected } from '../../src/core/find/thing-reader.ts'
import { commandClient, type CommandClient } from '../../src/commands/platform.ts'
import { createReadLog } from '../../src/platform/job-log/read-log.ts'
import { createReadReport } from '../../src/platform/reports/read-report.ts'
import { createReadSpans } from '../../src/platform/reports/read-spans.ts'
import { createShowLog } from '../../src/platform/job-log/show-log.ts'
import { createTestReports } from '../../src/platform/reports/read-tests.ts'
import { createTextRedaction } from '../../src/lib/text-redaction.ts'
import { defaultAuditWords, restAuditEvent } from '../../src/platform/rest/audit.ts'
import { eventFile } from '../fixtures/event-files.ts'
import { everyEvent } from '../../src/platform/webhook/event-selection.ts'
import { messageOf } from '../../src/core/send/backend-message.ts'
import { parseDelivery } from '../../src/platform/webhook/parse-delivery.ts'
import { parseErrorBody } from '../../src/platform/rest/errors.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { restPipeline } from '../../src/platform/rest/pipelines.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { JobSnapshot } from '../../src/model/chunk.ts'

const esc = '\u001b'
const redactText = createTextRedaction([])
const random = new Random(50)
const some = (length: number, from: string): string =>
  Array.from({ length }, () => from[Math.floor(random.between(0, from.length))] ?? 'x').join('')
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

const tokens: readonly (readonly [beginning: string, length: number, from?: string])[] = [
  ['glpat-', 20],
  ['AKIA', 16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'],
  ['ghp_', 36],
  ['xoxb-123456789012-', 12],
  ['npm_', 36],
  ['sk_live_', 24],
  ['DB_PWD=', 14],
]
const contexts: readonly ((token: string) => string)[] = [
  token => `plain ${token}`,
  token => `${esc}[31m${token}${esc}[39m`,
  token => `${token.slice(0, 12)}${esc}[1m${token.slice(12)}`,
  token => `${esc}]8;;https://example.com\u0007${token}${esc}]8;;\u0007`,
  token => `a${esc}[31m${token}`,
  token => `a\\n${token}\\n`,
  token => `a\\u001b[31m${token}`,
  token => `{"message":"{\\"a\\":\\"b\\\\n${token}\\"}"}`,
  token => `GET /a?b%3D${token} 403`,
  token => `/a?b=${token.replace(/[-_]/g, one => (one === '-' ? '%2D' : '%5F'))}`,
  token => `x_${token}`,
  token => `&quot;${token}`,
  token => `\`${token}\``,
  token => `x\u200b${token.slice(0, 9)}\u200b${token.slice(9)}`,
]
/** Each token in each context. `text`: the token within its context. `value`: the part of the token that the result must not contain. */
const hidden = contexts.flatMap(context =>
  tokens.map(([beginning, length, from = letters]) => {
    const value = some(length, from)
    return { text: context(beginning + value), value }
  }),
)
const texts = hidden.map(({ text }) => text)

const job = { id: 2, name: 'unit', start: 0, end: 60_000, status: 'failed' } as JobSnapshot
const call = { priority: 'inside' as const }

/** Creates a client for a platform that responds to every request with this body. */
async function platformWith(body: string | Uint8Array): Promise<CommandClient> {
  const port = await listen(createServer((_, response) => response.end(body)))
  return closeAfterTest(
    commandClient(1_000, { url: `http://127.0.0.1:${port}`, token: () => 'x', tokenType: 'private', concurrency: 1 }),
  )
}

const inXml = (text: string): string =>
  text.replace(/[&<>"\u001b\u0007]/g, one => `&#x${one.charCodeAt(0).toString(16)};`)
const oneByOne =
  (read: (text: string) => unknown): ((all: readonly string[]) => unknown) =>
  all =>
    all.map(read)
const pipeline = readFileSync(
  path.join(import.meta.dirname, '..', 'fixtures', 'webhooks', 'pipeline-merge-request.json'),
  'utf8',
)

const entrances: Readonly<Record<string, (all: readonly string[]) => unknown>> = {
  'lines and sections of a job log': async all => {
    const sections = all.flatMap((text, at) => [
      `section_start:1:part_${at}\r${esc}[0K${text}`,
      `section_end:1:part_${at}\r${esc}[0K`,
    ])
    const client = await platformWith([...all, ...sections.slice(0, 160), 'Job succeeded'].join('\n'))
    const log = createReadLog(client, { redactText, readMax: 1e6, linesMax: 1e6 })
    const found = await log(1, job, { lines: true, sections: true }, call)
    return [await found.lines(), found.sections]
  },
  'a log on a page': async all => {
    const client = await platformWith(all.join('\n'))
    const show = createShowLog(client, { redactText, readMax: 1e6, maxPerMinute: 5, clock: systemClock })
    return show({ projectId: 1, id: 2, start: 0, end: 60_000, isScriptFailure: false })
  },
  'a JUnit report': async all => {
    const cases = all.map(
      text =>
        `<testcase name="${inXml(text)}" classname="c"><failure message="${inXml(text)}" type="${inXml(text)}">${inXml(text)}\n${inXml(text)}</failure></testcase>`,
    )
    const client = await platformWith(`<testsuites><testsuite name="s">${cases.join('')}</testsuite></testsuites>`)
    const reports = createTestReports(client, { redactText, maxText: 4_096, keptCases: 100 })
    return reports.ofJob(1, job, call)
  },
  "a job's own spans": async all => {
    const value = { arrayValue: { values: all.map(text => ({ stringValue: text })) } }
    const spans = all.map((text, at) => ({
      ...{
        spanId: (at + 1).toString(16).padStart(16, '0'),
        name: text,
        startTimeUnixNano: '1000',
        endTimeUnixNano: '2000',
      },
      attributes: [
        { key: 'a', value: { stringValue: text } },
        { key: text, value: { stringValue: 'x' } },
        { key: 'b', value },
      ],
      events: [{ timeUnixNano: '1500', name: text, attributes: [] }],
      status: { code: 2, message: text },
    }))
    const client = await platformWith(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }))
    return createReadSpans(client, { paths: ['a.otlp.json'], redactText, maxText: 4_096 })(1, job, async () => [], call)
  },
  'a dotenv report': async all => {
    const client = await platformWith(gzipSync(all.map((text, at) => `KEY_${at}=${text}`).join('\n')))
    return createReadReport(client, { isAllowed: () => true, redactText })(1, job, 'dotenv', call)
  },
  'a metrics report': async all => {
    const label = (text: string): string => text.replace(/[\\"]/g, '\\$&')
    const client = await platformWith(gzipSync(all.map((text, at) => `m${at % 40}{a="${label(text)}"} 1`).join('\n')))
    return createReadReport(client, { isAllowed: () => true, redactText })(1, job, 'metrics', call)
  },
  'titles and messages of a pipeline': oneByOne(text => {
    const json = JSON.parse(pipeline) as Record<string, Record<string, unknown>>
    Object.assign(json.merge_request!, { title: text })
    Object.assign(json.commit!, { message: text })
    Object.assign(json.object_attributes!, { name: text, yaml_errors: text })
    const parsed = parseDelivery(
      { event: 'Pipeline Hook', instance: 'https://git.example.com', body: Buffer.from(JSON.stringify(json)) },
      { profile: profiles.generic, traceparent: false, events: everyEvent },
    )
    const asked = restPipeline.parse({ id: 1, project_id: 1, status: 'failed', name: text, yaml_errors: text })
    return [parsed, asked]
  }),
  'an event': oneByOne(text => {
    const { event, text: body } = eventFile('change')
    const json = JSON.parse(body) as Record<string, Record<string, unknown>>
    Object.assign(json.object_attributes!, { title: text, source_branch: text })
    return parseDelivery(
      { event, instance: 'https://git.example.com', body: Buffer.from(JSON.stringify(json)) },
      { profile: profiles.generic, traceparent: false, events: everyEvent },
    )
  }),
  'an audit event': oneByOne(text => {
    const details = {
      custom_message: text,
      author_name: text,
      target_details: text,
      from: text,
      to: text,
      change: text,
    }
    const item = { id: 1, created_at: '2026-01-01T00:00:00Z', entity_type: 'User', entity_id: 1, author_id: 1, details }
    expect(auditAttributes.length).toBeGreaterThan(0)
    return restAuditEvent('https://git.example.com', defaultAuditWords).parse(item)
  }),
  'the inventory': async all =>
    cleanCollected(
      {
        points: all.map(text => ({ metric: 'm', attributes: { name: text }, value: 1 })),
        events: all.map(text => ({ key: 'k', name: 'e', body: text, attributes: { name: text } })),
      },
      redactText,
    ),
  "the platform's refusal": oneByOne(text => [
    parseErrorBody({ text: JSON.stringify({ message: text }), type: 'application/json', secrets: [] }),
    parseErrorBody({ text, type: 'text/plain', secrets: [] }),
  ]),
  "a backend's refusal": oneByOne(text => [
    messageOf(Buffer.from(JSON.stringify({ message: text })), 'application/json'),
    messageOf(Buffer.from(text), 'text/plain'),
  ]),
}

it.each(Object.entries(entrances))('redacts a secret in %s, however the secret is disguised', async (_, enter) => {
  const read = JSON.stringify(await enter(texts), (_key, value: unknown) =>
    value instanceof Map ? [...(value as Map<unknown, unknown>)] : value,
  )
  expect(read).toContain('[REDACTED]')
  const bare = read.replace(/\\u200b|\u200b/g, '')
  expect(
    hidden.filter(({ value }) => bare.includes(value) || bare.includes(value.slice(-9))).map(({ text }) => text),
  ).toEqual([])
  expect(read).not.toMatch(/(?<!\\)\\u00(?:1b|07)|\u009b/)
})
