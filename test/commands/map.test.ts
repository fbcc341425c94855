// Tests where `pipespan map` reads a payload from, and what it prints.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { eventFile } from '../fixtures/event-files.ts'
import { fileWith } from '../daemon/configuration/given.ts'
import { runCommand } from '../e2e/run-command.ts'

const payload = path.join(import.meta.dirname, '..', 'fixtures', 'webhooks', 'pipeline-failed.json')

async function map(
  file: string,
  stdin: Readable,
  ...more: string[]
): Promise<{ code: number; out: string; complaint: string }> {
  const env = { PIPESPAN_WEBHOOK_TOKEN: 'x' }
  const { code, stdout: out, stderr: complaint } = await runCommand(['map', file, ...more], env, stdin)
  return { code, out, complaint }
}

it('maps standard input like a file, however slowly it arrives', async () => {
  const fromFile = await map(payload, Readable.from([]))
  expect(fromFile.code).toBe(0)
  const bytes = readFileSync(payload)
  const slow = async function* (): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += 4_000) {
      await new Promise(resolve => setImmediate(resolve))
      yield bytes.subarray(at, at + 4_000)
    }
  }
  expect(await map('-', Readable.from(slow()))).toEqual(fromFile)
})

it('shows how an event that is not about a pipeline is exported, or that the event is not selected', async () => {
  const { code, out } = await map(
    path.join(import.meta.dirname, '..', 'fixtures', 'events', 'deployment.json'),
    Readable.from([]),
  )
  expect(code).toBe(0)
  expect(out).toContain('platform.deployment  Deployment success: production\n2025-03-11T09:04:31.000Z\n')
  expect(out).toContain('  deployment.environment.name = production\n')
  expect(out).toContain('  service.name = Shop\n')
  expect(out).not.toContain('Not exported')
  const push = await map('-', Readable.from([eventFile('push').text]))
  expect(push.out).toContain('(when it was received)')
  expect(push.out).toContain('Not exported with this configuration: PIPESPAN_EVENTS does not include push.')
})

it('prints only JSON for scripts, even if nothing is exported', async () => {
  const fixture = (name: string): string => path.join(import.meta.dirname, '..', 'fixtures', name)
  for (const [file, description] of [
    ['webhooks/pipeline-failed.json', ''],
    ['events/deployment.json', ''],
    ['webhooks/job-failed.json', 'once a pipeline event arrives.\n'],
    ['webhooks/unknown', 'exports nothing.\n'],
  ] as const) {
    const isUnknown = file === 'webhooks/unknown'
    const { code, out, complaint } = await map(
      isUnknown ? '-' : fixture(file),
      Readable.from(['{"object_kind":"sponge"}']),
      '--json',
    )
    const { resourceSpans, resourceLogs } = JSON.parse(out) as Record<string, unknown[] | undefined>
    expect([file, code, (resourceSpans ?? resourceLogs)?.length]).toEqual([file, 0, description === '' ? 1 : 0])
    expect(complaint.endsWith(description) && (complaint === '') === (description === '')).toBe(true)
  }
})

it('reports errors when reading standard input', async () => {
  expect(await map('-', Readable.from(['{']))).toEqual({
    code: 1,
    out: '',
    complaint:
      'The standard input: The body is not a JSON object. Check whether a proxy between the platform and the daemon cuts or rewrites it.\n',
  })
})

it("prints the pipeline's verdict after the mapped payload with --explain", async () => {
  const { code, out } = await map(payload, Readable.from([]), '--explain')
  expect(code).toBe(0)
  expect(out).toMatch(/\nVerdict: failed in unit after 4 m 27 s\.\n$/)
  const json = await map(payload, Readable.from([]), '--explain', '--json')
  expect(Object.keys(JSON.parse(json.out) as object)).toEqual(['resourceSpans'])
  expect(json.complaint).toContain('Verdict: failed in unit')
})

it('shows the attributes that the configured rules set, on the pipeline and on single jobs', async () => {
  const config = fileWith(
    [
      'attributes:',
      '  rules:',
      '    - { set: { team: payments }, metrics: true }',
      '    - { branches: [tag], set: { team: release } }',
      '    - { jobs: { include: [comp*] }, set: { tier: 1 } }',
    ].join('\n'),
  )
  const { out } = await map(payload, Readable.from([]), '--config', config)
  expect(out).toContain('\nattributes.rules\n  team = payments (also on metrics)\n  compile: tier = 1\n')
  const event = path.join(import.meta.dirname, '..', 'fixtures', 'events', 'deployment.json')
  const shown = await map(event, Readable.from([]), '--config', config)
  expect(shown.out.match(/ {2}team = payments\n/g)).toHaveLength(2)
  expect(shown.out.endsWith('  team = payments\n')).toBe(true)
})

it('names the destinations that accept the payload if there are several', async () => {
  const [group] = (
    JSON.parse(readFileSync(payload, 'utf8')) as { project: { path_with_namespace: string } }
  ).project.path_with_namespace.split('/')
  const config = (own: string): string =>
    fileWith(
      [
        'destinations:',
        `  - { name: own, endpoint: 'http://own', projects: { include: ['${own}/**'] } }`,
        `  - { name: other, endpoint: 'http://other', projects: { include: ['other/**'] } }`,
      ].join('\n'),
    )
  const taken = await map(payload, Readable.from([]), '--config', config(group ?? ''))
  expect(taken.out).toContain('\ndestinations\n  own: traces, logs, metrics\n')
  expect((await map(payload, Readable.from([]), '--config', config('none'))).out).toContain('\n  none takes it\n')
  expect((await map(payload, Readable.from([]))).out).not.toContain('destinations')
})
