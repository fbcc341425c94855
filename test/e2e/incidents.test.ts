// Incidents on the shipped daemon: their events come twice, through two hooks; of one nobody reports the end, and of one nobody reports anything. The platform
// is asked, and each is counted once.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon } from './daemon.ts'
import { incidentPayload } from '../../src/simulator/platform/live.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { projects, users } from '../../src/simulator/platform/world.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import type { SimIncident } from '../../src/simulator/platform/incident-records.ts'

const minute = 60_000

it('counts each incident once when it opens and once when it closes, even if a webhook was lost', async () => {
  const state = new PlatformState()
  const api = closeAfterTest(await RestApi.start({ state, now: () => Date.now() }))
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const daemon = await Daemon.start({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    SERVICE_OBSERVABILITY_EXPORT: 'metrics',
    PIPESPAN_METRICS_INTERVAL: '200ms',
    PIPESPAN_PLATFORM_URL: api.url,
    PIPESPAN_PLATFORM_TOKEN: 'pat-1',
    PIPESPAN_EVENTS: 'issue',
    PIPESPAN_ENRICH_DEADLINE: '1ms',
    PIPESPAN_POLL_INTERVAL: '1s',
  })
  const [project] = Object.values(projects)
  if (project === undefined) throw new Error('there is no project')
  const deliver = async (incident: SimIncident, action: 'open' | 'close'): Promise<void> => {
    const body = JSON.stringify(incidentPayload(incident, action, users[0], api.instance))
    for (const key of [`${incident.iid} ${action} project`, `${incident.iid} ${action} group`]) {
      const headers = {
        'x-service-event': 'Issue Hook',
        'x-service-instance': api.instance,
        'idempotency-key': key,
      }
      expect((await daemon.post(body, headers)).status).toBe(202)
    }
  }
  // Webhooks have whole seconds.
  const begun = Math.floor(Date.now() / 1_000) * 1_000 - 30 * minute
  const [whole, endless, silent] = [0, 1, 2].map(n => state.incidents.open(project, 'high', begun + n * minute))
  if (whole === undefined || endless === undefined || silent === undefined) throw new Error('there are three')
  await deliver(whole, 'open')
  await deliver(endless, 'open')
  for (const one of [whole, endless, silent]) one.closedAt = one.updatedAt = one.openedAt + 10 * minute
  await deliver(whole, 'close')
  await receiver.until(() => last(receiver).ended >= 3 && last(receiver).opened >= 3)
  // Another round finds nothing new.
  const asked = api.asked.length
  await expect.poll(() => api.asked.length).toBeGreaterThan(asked)
  expect(await daemon.stop()).toEqual({ code: 0, signal: null })
  expect(last(receiver)).toEqual({ opened: 3, ended: 3, seconds: 3 * 600 })
})

/** The newest totals. */
function last({ metrics }: OtlpReceiver): { opened: number; ended: number; seconds: number } {
  let [opened, ended, seconds] = [0, 0, 0]
  for (const { name, points } of metrics) {
    for (const point of points) {
      if (name === 'platform.incident.count' && 'value' in point) opened = Number(point.value)
      if (name === 'platform.incident.duration' && 'sum' in point) {
        ended = Number(point.count)
        seconds = Math.round(point.sum ?? 0)
      }
    }
  }
  return { opened, ended, seconds }
}
