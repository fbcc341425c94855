// Tests the shipped daemon while the store's file is removed and put back. Meanwhile the daemon is not ready, rejects webhooks, names the remedy, and
// exports its pending data. Everything that it acknowledged arrives.
import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { Daemon } from './daemon.ts'

it("is not ready and rejects webhooks while the store's file is missing, and loses no acknowledged delivery", async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '1ms' })
  const file = daemon.storeFile
  const statusOf = async (url: string): Promise<number> => (await fetch(`${url}/readyz`)).status
  const both = async (): Promise<number[]> => Promise.all([daemon.url, daemon.adminUrl].map(statusOf))
  let id = 0
  const acknowledged = new Set<number>()
  const post = async (): Promise<number> => {
    id += 1
    const { status } = await daemon.post(pipelineEvent({ id }))
    if (status < 300) acknowledged.add(id)
    return status
  }
  const arrived = (): Set<number> =>
    new Set(receiver.spans.map(({ attributes }) => Number(attributes['cicd.pipeline.run.id'])))

  for (const ending of ['', '-wal']) {
    expect(await post()).toBe(202)
    const name = `${file}${ending}`
    renameSync(name, `${name}-elsewhere`)
    expect(await both()).toEqual([503, 503])
    expect(await post()).toBe(503)
    const { msg, level } = await daemon.process.logged(`${name} was removed, replaced or emptied`)
    expect(level).toBe(50)
    expect(msg).toContain('restart the daemon')
    // A copy in the store's place is a different file, so the daemon does not use it.
    copyFileSync(`${name}-elsewhere`, name)
    expect(await both()).toEqual([503, 503])
    expect(await post()).toBe(503)
    // The daemon still exports its pending data.
    await expect.poll(() => [...acknowledged].filter(one => !arrived().has(one)), { timeout: 60_000 }).toEqual([])
    renameSync(`${name}-elsewhere`, name)
    await expect.poll(both, { timeout: 60_000 }).toEqual([200, 200])
  }
  expect(await post()).toBe(202)
  await expect.poll(() => [...acknowledged].filter(one => !arrived().has(one)), { timeout: 60_000 }).toEqual([])

  rmSync(file)
  expect(await post()).toBe(503)
  const metrics = await (await fetch(`${daemon.adminUrl}/metrics`)).text()
  expect(metrics).toMatch(/^pipespan_store_in_place(_ratio)? 0$/m)
  expect(await daemon.stop()).toEqual({ code: 0, signal: null })
  await daemon.restart()
  expect(await post()).toBe(202)
  await expect.poll(() => arrived().has(id), { timeout: 60_000 }).toBe(true)
})
