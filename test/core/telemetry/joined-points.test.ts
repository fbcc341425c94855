// Points of a metric that became equal because an attribute was dropped: a backend takes each series once.
import { expect, it } from 'vitest'
import { gaugesData, type FoundPoint } from '../../../src/core/telemetry/metrics/gauges.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'

const instance = 'https://git.example.com'
const count = { name: 'things', unit: '{thing}', number: 'int', description: 'Things.', type: 'updowncounter' } as const
const settings = telemetrySettings({ profiles, drop: ['kind'], gauges: [count] })

function valuesOf(metric: string, ...values: FoundPoint['value'][]): unknown[] {
  const points = values.map((value, at) => ({ metric, attributes: { kind: String(at), place: 'here' }, value }))
  const found = gaugesData({ instance, profile: 'generic', points }, 10_000, settings)
  return found.flatMap(one => one.points.map(({ attributes, value }) => ({ ...attributes, value })))
}

it('adds up counts and histograms, and keeps the longest age, the shortest time left and the first of other gauges', () => {
  expect(valuesOf('things', 3, 4)).toEqual([{ place: 'here', value: 7 }])
  expect(valuesOf('answer', 3, 4)).toEqual([{ place: 'here', value: 3 }])
  expect(valuesOf('age', { since: 4_000 }, { since: 2_000 })).toEqual([{ place: 'here', value: 8 }])
  expect(valuesOf('due', { until: 14_000 }, { until: 12_000 })).toEqual([{ place: 'here', value: 2 }])
  const waits = (...counts: number[]) => ({ began: 1, bounds: [5], counts, sum: 6 })
  const value = { bounds: [5], counts: [3, 1], sum: 12 }
  expect(valuesOf('waits', waits(1, 0), waits(2, 1))).toEqual([{ place: 'here', value }])
})
