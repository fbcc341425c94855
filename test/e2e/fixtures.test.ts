// Posts every documented payload to the running daemon, and translates it with `pipespan map`.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { runCommand } from './run-command.ts'
import { Daemon } from './daemon.ts'
import type { ReceivedSpan } from '../support/otlp-decode.ts'

interface Payload {
  readonly object_attributes?: { readonly id: number; readonly status: string; readonly finished_at?: string | null }
  readonly builds?: readonly { readonly id: number; readonly status: string }[]
  readonly jobs?: Payload['builds']
  readonly bridges?: Payload['builds']
}

const folder = path.join(import.meta.dirname, '..', 'fixtures', 'webhooks')
const files = readdirSync(folder)
const bodyOf = (file: string): Buffer => readFileSync(path.join(folder, file))
const payloadOf = (file: string): Payload => JSON.parse(bodyOf(file).toString()) as Payload
const over = new Set(['success', 'failed', 'canceled', 'skipped'])

/** Returns the event header that the platform sends with the payload in this file. */
function eventOf(file: string): string {
  const [kind = ''] = file.split(/[-.]/)
  return kind === 'system' ? 'System Hook' : `${kind.charAt(0).toUpperCase()}${kind.slice(1)} Hook`
}

const pipelineFiles = files.filter(file => file.startsWith('pipeline'))
const ended = pipelineFiles.map(payloadOf).filter(payload => over.has(payload.object_attributes?.status ?? ''))
const endedIds = new Set(ended.map(payload => payload.object_attributes?.id))

function pipelinesIn(spans: readonly ReceivedSpan[]): Set<unknown> {
  return new Set(spans.filter(({ kind }) => kind === 'server').map(({ attributes }) => attributes['pipeline.id']))
}

const allEnded = (spans: readonly ReceivedSpan[]): boolean => {
  const there = pipelinesIn(spans)
  return [...endedIds].every(id => there.has(id))
}

describe('every documented webhook', () => {
  it('answers every documented webhook with 2xx, exports finished pipelines with all their jobs, and ignores duplicates in any order', async () => {
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    /** Posts a pipeline with this id, and waits until it arrives. All earlier pipelines have arrived by then. */
    const postLast = async (id: number): Promise<void> => {
      const body = bodyOf('pipeline-no-jobs.json').toString().replaceAll('24103', String(id))
      await daemon.post(body)
      await receiver.until(spans => pipelinesIn(spans).has(id))
    }
    for (const file of files) {
      const answer = await daemon.post(bodyOf(file), { 'x-service-event': eventOf(file) })
      const isOfInterest = /^(pipeline|job|deployment)/.test(file)
      expect([file, answer.status]).toEqual([file, isOfInterest ? 202 : 200])
      expect(await answer.json()).toEqual({ message: expect.any(String) as string })
    }
    await postLast(90_001)
    await receiver.until(allEnded)
    // On a busy machine, further spans of an ended pipeline may still be pending here, so the test waits until no export is pending.
    const pending = /^pipespan_export_queue_size\{.*signal="traces".*\} (\d+)/m
    const metrics = async (): Promise<string> => (await fetch(`${daemon.adminUrl}/metrics`)).text()
    await expect.poll(async () => pending.exec(await metrics())?.[1]).toBe('0')
    const before = receiver.spans.length
    expect(pipelinesIn(receiver.spans)).toEqual(new Set([...endedIds, 90_001]))
    const jobs = receiver.spans.map(({ attributes }) => attributes['job.id'])
    for (const { builds, jobs: olderName, bridges = [] } of ended) {
      for (const { id } of [...(builds ?? olderName ?? []), ...bridges]) expect(jobs).toContain(id)
    }
    for (const span of receiver.spans) {
      expect(span.start).toBeGreaterThan(Date.UTC(2010, 0))
      expect(span.end).toBeGreaterThanOrEqual(span.start)
    }

    for (const file of files.toReversed()) await daemon.post(bodyOf(file), { 'x-service-event': eventOf(file) })
    await postLast(90_002)
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    expect(receiver.spans.slice(before).map(({ name, attributes }) => [name, attributes['pipeline.id']])).toEqual([
      [expect.any(String), 90_002],
    ])
    expect((await daemon.command('inbox', 'list')).stdout).toBe('0 could not be decoded.\n')
  })
})

describe('pipespan map', () => {
  async function map(...args: string[]): Promise<{ code: number; output: string; errors: string }> {
    const env = { PIPESPAN_PLATFORM_URL: 'https://git.example.com' }
    const { code, stdout: output, stderr: errors } = await runCommand(['map', ...args], env)
    return { code, output, errors }
  }

  it.each(files)('translates %s with pipespan map', async file => {
    const shown = await map(path.join(folder, file))
    expect(shown).toMatchObject({ code: 0, errors: '' })
    const { object_attributes: pipeline } = payloadOf(file)
    if (!file.startsWith('pipeline') || pipeline === undefined) {
      expect(shown.output).toMatch(
        file.startsWith('job') ? /update of pipeline \d+: job \d+/ : /^platform\.(?:deployment|vcs\.push|project) /,
      )
      return
    }
    expect(shown.output).toContain('pipeline: ')
    expect(shown.output.includes('waits for the pipeline to end')).toBe(!over.has(pipeline.status))
  })
})
