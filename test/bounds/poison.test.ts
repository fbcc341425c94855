// Tests that data which backends and parsers reject neither delays nor loses other data. The shipped daemon gets it mixed with ordinary pipelines.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Daemon } from '../e2e/daemon.ts'
import { OtlpReceiver, patient } from '../support/otlp-receiver.ts'
import { pipelineEvent } from './pipelines.ts'
import type { ReceivedSpan } from '../support/otlp-decode.ts'

const usual = Array.from({ length: 20 }, (_, index) => index + 100)
const others = usual.map(id => id + 100)

async function post(daemon: Daemon, body: string): Promise<void> {
  const { status } = await daemon.post(body)
  expect(status).toBe(202)
}

/** The IDs of the received pipelines. An ID that was received several times is listed several times. */
function pipelines(spans: readonly ReceivedSpan[]): number[] {
  return spans
    .filter(({ attributes }) => attributes['cicd.pipeline.task.run.id'] === undefined)
    .map(({ attributes }) => Number(attributes['cicd.pipeline.run.id']))
    .sort((a, b) => a - b)
}

const spanIds = (spans: readonly ReceivedSpan[]): Set<string> => new Set(spans.map(span => span.spanId))

describe('data that the backend rejects', () => {
  let receiver: OtlpReceiver
  let daemon: Daemon
  beforeAll(async () => {
    receiver = await OtlpReceiver.start()
    daemon = await Daemon.startForAll({ ...patient, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    return async () => {
      await daemon.dispose()
      await receiver.close()
    }
  })
  // Each test has already waited until everything that it sent was processed.
  beforeEach(() => {
    receiver.behave()
    receiver.clear()
  })

  it('exports as much of the rejected data as possible, and neither delays nor loses other data', async () => {
    const limit = 1024 * 1024
    receiver.misbehave({
      fault: { kind: 'status', status: 413, message: 'at most 1 MiB' },
      when: ({ plainSize }) => plainSize > limit,
    })
    await post(daemon, pipelineEvent({ id: 1, jobs: 5_000 }))
    await post(daemon, pipelineEvent({ id: 2, commitMessage: 'ü'.repeat(1_000_000) }))
    await post(daemon, '{"object_kind":"pipeline","object_attributes":{"id":"no number"}}')
    for (const id of usual) await post(daemon, pipelineEvent({ id }))

    const expected = 5_001 + 3 + usual.length * 3
    await receiver.until(spans => spans.length >= expected)
    expect(receiver.spans.length).toBe(expected)
    expect(spanIds(receiver.spans).size).toBe(expected)
    expect(pipelines(receiver.spans)).toEqual([1, 2, ...usual])
    const texts = receiver.spans.flatMap(({ attributes }) => Object.values(attributes)).map(String)
    expect(texts.reduce((longest, { length }) => Math.max(longest, length), 0)).toBe(4_096)
    expect((await daemon.command('dead-letters', 'list', '--json')).stdout).not.toContain('"status":413')
    const inbox = async (): Promise<string> => (await daemon.command('inbox', 'list')).stdout
    expect(await inbox()).toMatch(/^1 could not be decoded/)
  })

  it("stores data that is rejected even after splitting as a dead letter with the backend's message, and delivers the rest", async () => {
    receiver.misbehave({
      fault: { kind: 'status', status: 413, message: 'at most 64 KiB' },
      when: ({ plainSize }) => plainSize > 64 * 1024,
    })
    for (const id of others.slice(0, 10)) await post(daemon, pipelineEvent({ id }))
    await receiver.until(spans => spans.length === 30)
    await post(daemon, pipelineEvent({ id: 3, jobs: 1_200 }))
    for (const id of others.slice(10)) await post(daemon, pipelineEvent({ id }))
    await receiver.until(spans => spans.length >= others.length * 3)
    await daemon.process.logged('dead letter')
    await expect
      .poll(async () => (await daemon.command('dead-letters', 'list')).stdout, { interval: 500 })
      .toMatch(/at most 64 KiB/)
    expect(pipelines(receiver.spans)).toEqual(others)
  })
})
