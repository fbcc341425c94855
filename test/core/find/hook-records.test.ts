// Tests what is exported and stored about the daemon's own webhooks, from the platform's records of their deliveries.
import { expect, it } from 'vitest'
import { delivery, openRedelivery, own, record } from './redelivery-world.ts'
import { gaugesData } from '../../../src/core/telemetry/metrics/gauges.ts'
import { hookMetrics } from '../../../src/core/find/hook-gauges.ts'
import { minute } from './polled-world.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'

it('exports the state of each hook, and the duration of each delivery once, across restarts', async () => {
  await using here = await openRedelivery()
  const settings = telemetrySettings({ profiles, gauges: hookMetrics })
  const shown = async () => {
    const [reading] = await here.world.store.repositories.gaugeReadings.all()
    const [state, took] = gaugesData(reading!, here.world.now(), settings)
    const [point] = took?.points ?? []
    return {
      whose: reading?.group,
      states: state?.points.map(({ attributes, value }) => [attributes['platform.webhook.state'], value]),
      ...{ took: took?.head.type, value: point?.value, start: point?.start },
    }
  }
  for (const id of [1, 2, 3]) record(here.world, own, '200', delivery(id))
  await here.redelivery.round()
  const began = here.world.now()
  const enabled = [
    ['executable', 1],
    ['temporarily_disabled', 0],
    ['disabled', 0],
  ]
  const first = { whose: 'brightwater', states: enabled, took: 'histogram', start: began }
  expect(await shown()).toMatchObject({ ...first, value: { counts: [0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0] } })
  await here.world.pass(minute)
  record(here.world, own, '503', delivery(4))
  await here.redelivery.round()
  await here.redelivery.round()
  const { value } = await shown()
  expect(await shown()).toMatchObject({ ...first, value: { counts: [0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0] } })
  expect((value as { sum: number }).sum).toBeCloseTo(0.8)
  const off = {
    id: 7,
    url: own.url,
    pipeline_events: true,
    job_events: true,
    alert_status: 'disabled',
    disabled_until: null,
  }
  here.world.api.misbehave = ({ path }) =>
    path.endsWith('/hooks') ? { status: 200, headers: {}, body: JSON.stringify([off]) } : undefined
  await here.redelivery.round()
  expect((await shown()).states).toEqual([
    ['executable', 0],
    ['temporarily_disabled', 0],
    ['disabled', 1],
  ])
})

it('stores when each hook last delivered, and what responses its deliveries got', async () => {
  await using here = await openRedelivery()
  const remembered = async () => here.world.store.repositories.hooks.all()
  for (const [id, status] of ['200', '200', '503', 'internal error'].entries()) {
    record(here.world, own, status, delivery(id + 1))
  }
  await here.redelivery.round()
  const reported = { kind: 'group', owner: 'brightwater', state: 'executable', lastDeliveryAt: here.world.now() }
  expect(await remembered()).toMatchObject([{ ...reported, answers: { 200: 2, 503: 1, 'no answer': 1 } }])
  await here.world.pass(minute)
  await here.redelivery.round()
  expect(await remembered()).toMatchObject([{ ...reported, answers: { 200: 2, 503: 1, 'no answer': 1 } }])
  record(here.world, own, '200', delivery(9))
  await here.redelivery.round()
  const last = here.world.now()
  expect(await remembered()).toMatchObject([{ lastDeliveryAt: last, answers: { 200: 3 } }])
  // The hook was disabled when it was last read. Now its state changes, but there are no new deliveries.
  const [hook] = await remembered()
  await here.world.store.repositories.hooks.put({ ...hook!, state: 'disabled' })
  await here.world.pass(minute)
  await here.redelivery.round()
  expect(await remembered()).toMatchObject([{ state: 'executable', lastDeliveryAt: last }])
})
