// Tests an SQLite store whose disk fills up under load: the daemon rejects webhooks with a reason, nothing is corrupted, and it recovers completely.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon } from '../e2e/daemon.ts'
import { OtlpReceiver, patient } from '../support/otlp-receiver.ts'
import { pipelineEvent } from './pipelines.ts'

/** Mounting the small file system of this test needs root and a machine that permits it. */
const folder = path.join('/tmp', `pipespan-small-disk-${process.pid}`)
const mayMount = (() => {
  mkdirSync(folder, { recursive: true })
  return spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', folder]).status === 0
})()
if (!mayMount) rmSync(folder, { recursive: true })

describe.skipIf(!mayMount)('a full disk', () => {
  it('rejects webhooks with 503 while the disk is full, keeps acknowledged deliveries, and accepts webhooks again once there is space', async () => {
    onTestFinished(() => {
      spawnSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true, force: true })
    })
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const stopOutage = receiver.misbehave({ fault: { kind: 'status', status: 503 } })
    const file = path.join(folder, 'store', 'pipespan.db')
    const daemon = await Daemon.start({
      ...patient,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      PIPESPAN_STORE_URL: `sqlite:${file}`,
    })
    const ready = async (): Promise<number[]> =>
      Promise.all([daemon.adminUrl, daemon.url].map(async url => (await fetch(`${url}/readyz`)).status))
    expect(await ready()).toEqual([200, 200])
    const taken: number[] = []
    let refused = 0
    for (let id = 1; refused < 20; id += 1) {
      const body = pipelineEvent({ id, commitMessage: 'x'.repeat(20_000) })
      const answer = await daemon.post(body)
      if (answer.status === 202) taken.push(id)
      else {
        expect(answer.status).toBe(503)
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
        expect(await answer.text()).not.toMatch(/sqlite|disk|pipespan-small/i)
        refused += 1
      }
      expect(id).toBeLessThan(10_000)
    }
    expect(taken.length).toBeGreaterThan(5)
    // The daemon caches the store's state for a while, so `/readyz` changes with a delay.
    await expect.poll(ready).toEqual([503, 503])

    execFileSync('mount', ['-o', 'remount,size=100m', folder])
    stopOutage()
    const pipelines = (): number =>
      receiver.spans.filter(({ attributes }) => attributes['cicd.pipeline.task.run.id'] === undefined).length
    // A loop whose writes have failed for a long time retries at least once a minute.
    await receiver.until(() => pipelines() === taken.length)
    await expect.poll(ready).toEqual([200, 200])
    const late = await daemon.post(pipelineEvent({ id: 20_000 }))
    expect(late.status).toBe(202)
    await receiver.until(() => pipelines() === taken.length + 1)
    expect(new Set(receiver.spans.map(({ spanId }) => spanId)).size).toBe(receiver.spans.length)
    expect((await daemon.stop()).code).toBe(0)
    const database = new DatabaseSync(file)
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    database.close()
  })
})
