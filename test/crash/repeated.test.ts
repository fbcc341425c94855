// The daemon is killed while the backend is still processing a request. After a restart, it sends the same IDs again, and counts them as repeated.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon } from '../e2e/daemon.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { shiftClock } from '../core/store/postgres-server.ts'

/** A time longer than an export lease, ms. */
const leaseIsOver = 1_800_000

async function exportsOf(daemon: Daemon, outcome: string): Promise<number> {
  const page = await (await fetch(`${daemon.adminUrl}/metrics`)).text()
  return Number(new RegExp(`^pipespan_export_items_total{.*outcome="${outcome}"} (\\d+)`, 'm').exec(page)?.[1] ?? 0)
}

it.each(['sqlite', 'postgres'] as const)(
  'counts exactly the exports that a daemon on %s repeats because it was killed before the backend responded',
  { timeout: 300_000 },
  async engine => {
    const storeUrl = engine === 'sqlite' ? undefined : await newDatabase()
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const daemon = await Daemon.start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      ...(storeUrl !== undefined && { PIPESPAN_STORE_URL: storeUrl }),
    })
    const isPosted = async (id: number): Promise<void> => {
      const headers = { 'x-service-event': 'Pipeline Hook', 'x-service-instance': 'https://git.example.com' }
      expect((await daemon.post(pipelineEvent({ id }), headers)).status).toBe(202)
    }
    await new Promise<void>(resolve => {
      receiver.misbehave({ fault: { kind: 'hang' }, when: () => (resolve(), true) })
      void isPosted(1)
    })
    await daemon.kill()
    receiver.behave()
    if (storeUrl !== undefined) await shiftClock(storeUrl, leaseIsOver)
    await daemon.restart()
    await receiver.until(spans => spans.length >= 3)
    await isPosted(2)
    await receiver.until(spans => spans.length >= 6)
    await expect.poll(async () => exportsOf(daemon, 'delivered')).toBe(2)
    expect(await exportsOf(daemon, 'repeated')).toBe(1)
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
  },
)
