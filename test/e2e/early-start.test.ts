// The ingress opens before the rest of the daemon is there: what that promises.
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { complete, differences } from './truth.ts'
import { freePorts } from '../../src/demo/daemon-process.ts'
import { loadConfig } from '../../src/config/load.ts'
import { makeLoad } from './load.ts'
import { startEarly } from '../../src/app/early-start.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { profiles } from '../../src/app/profile.ts'
import { silentLog } from '../../src/lib/log.ts'
import { startDaemon } from '../../src/app/daemon.ts'
import { webhookToken } from './daemon.ts'

const log = silentLog()

async function configured(env: Record<string, string>) {
  const [port = 0, adminPort = 0] = await freePorts(2)
  const loaded = loadConfig({
    profiles,
    env: {
      PIPESPAN_LISTEN: `127.0.0.1:${port}`,
      PIPESPAN_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
      PIPESPAN_STORE_URL: `sqlite:${path.join(temporaryFolder(), 'p.db')}`,
      PIPESPAN_WEBHOOK_TOKEN: webhookToken,
      PIPESPAN_SETTLE: '1ms',
      SERVICE_OBSERVABILITY_EXPORT: 'traces',
      ...env,
    },
  })
  if (!loaded.ok) throw new Error(loaded.faults.map(({ what }) => what).join())
  return loaded.config
}

const post = (url: string, body: string): Promise<Response> =>
  fetch(`${url}/webhooks`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-service-token': webhookToken,
      'x-service-event': 'Pipeline Hook',
    },
    body,
  })

describe('an early start', () => {
  it('is ready and accepts webhooks before the rest of the daemon is loaded, which then processes them', async () => {
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const config = await configured({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    const { deliveries, truths } = makeLoad({ seed: 60, pipelines: 3, webhooks: 0, scenarios: ['small'] })
    const early = await startEarly({ config, log })
    const url = await early.opened
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    for (const { body } of deliveries.filter(({ kind }) => kind === 'pipeline')) {
      expect((await post(url, body)).status).toBe(202)
    }
    const daemon = await startDaemon({ config, log, early })
    await receiver.until(complete(truths))
    await daemon.stop()
    expect(differences(truths, receiver.spans)).toEqual([])
  })

  it('closes when the rest of the daemon cannot start, and frees the store for the next daemon', async () => {
    const config = await configured({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
    const early = await startEarly({ config, log })
    const url = await early.opened
    const taken = { ...config, admin: { ...config.admin, listen: config.listen } }
    await expect(startDaemon({ config: taken, log, early })).rejects.toThrow('The admin listener cannot bind')
    await expect(fetch(`${url}/readyz`)).rejects.toThrow()
    const next = await startEarly({ config, log })
    expect(await next.opened).toBe(url)
    await next.steps.stop(0)
  })
})
