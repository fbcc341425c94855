// Gauges of groups that have the same path on two platforms.
import { expect, it } from 'vitest'
import { encodeResourceMetrics } from '../../../src/core/telemetry/encode.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { toGauges } from '../../../src/core/telemetry/metrics/gauges.ts'

const points = [{ metric: 'platform.runner.count', attributes: {}, value: 3 }]

function textOf(instance: string, namesInstances: boolean): string {
  const found = { instance, profile: 'generic', group: 'team', points }
  const metrics = toGauges(found, 1_000, telemetrySettings({ namesInstances }))
  return Buffer.from(encodeResourceMetrics([metrics])).toString('latin1')
}

it('are different series if several platforms are configured, and keep their resource if not', () => {
  const [one, two] = ['https://git.example.com', 'https://git.example.org']
  expect(textOf(one, true)).toContain('service.instance.id')
  expect(textOf(one, true)).not.toBe(textOf(two, true))
  expect(textOf(one, false)).toBe(textOf(two, false))
  expect(textOf(one, false)).not.toContain('service.instance.id')
})
