// A daemon on an SQLite file takes over the leases of a killed daemon immediately. If it waited for them to expire, a daemon that sends metrics once
// an hour would send none for two hours.
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon } from '../e2e/daemon.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'

/** All leases that a daemon holds. Each of them protects work that only one replica may do at a time. */
const names = ['audit', 'inventory', 'maintenance', 'metric-flush', 'poller', 'redelivery', 'regressions']

it('lets a new daemon take over all leases of a killed one as soon as it starts', async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const api = closeAfterTest(await RestApi.start({ state: new PlatformState(), now: () => Date.now() }))
  const daemon = await Daemon.start({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    PIPESPAN_PLATFORM_URL: api.url,
    PIPESPAN_PLATFORM_TOKEN: 'for-tests-alone',
    PIPESPAN_PUBLIC_URL: 'https://pipespan.example.com',
    PIPESPAN_POLL_PROJECTS: 'brightwater/shop/storefront',
    PIPESPAN_REDELIVERY: 'true',
    PIPESPAN_AUDIT: 'brightwater',
    PIPESPAN_INVENTORY_AGENTS: 'brightwater/platform/infrastructure',
    SERVICE_OBSERVABILITY_EXPORT: 'traces,metrics,logs',
    PIPESPAN_METRICS_INTERVAL: '1h',
  })
  const holders = (): Record<string, string> => {
    const store = new DatabaseSync(daemon.storeFile, { readOnly: true, timeout: 10_000 })
    try {
      const rows = store.prepare('SELECT name, holder FROM leases ORDER BY name').all()
      return Object.fromEntries(rows.map(({ name, holder }) => [String(name), String(holder)]))
    } finally {
      store.close()
    }
  }
  const all = async (): Promise<Record<string, string>> => {
    for (;;) {
      const found = holders()
      if (names.every(name => name in found)) return found
      await sleep(20)
    }
  }
  const first = await all()
  expect(Object.keys(first)).toEqual(names)
  await daemon.kill()
  expect(holders()).toEqual(first)
  await daemon.restart()
  // Once the new daemon is ready, the dead one holds no lease, and soon afterwards the new one holds all of them.
  const dead = Object.values(first)
  expect(Object.values(holders()).filter(holder => dead.includes(holder))).toEqual([])
  await all()
})
