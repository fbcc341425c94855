// Tests cumulative metrics and gauges: the owner of a series, the series limit, and data points that became equal because an attribute was
// dropped.
import { expect, it } from 'vitest'
import { encodeResourceMetrics } from '../../../src/core/telemetry/encode.ts'
import { activeData, projectResource, type ActiveTotals } from '../../../src/core/telemetry/metrics/cumulative.ts'
import { gaugesData, measuredResource, type FoundPoint } from '../../../src/core/telemetry/metrics/gauges.ts'
import { resourceMetrics } from '../../../src/core/telemetry/metrics/data.ts'
import { plainAttributes } from '../../../src/core/telemetry/otlp/attribute.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { telemetrySettings, type TelemetryOptions } from '../../../src/core/telemetry/settings.ts'

const owner = {
  key: { instance: 'https://git.example.com', projectId: 42 },
  project: { id: 42, name: 'Checkout', path: 'shop/backend/checkout' },
  profile: 'generic',
}

function resource(options: TelemetryOptions = {}) {
  return plainAttributes(projectResource(owner, telemetrySettings({ profiles, ...options })))
}

function active(...runs: [name: string, status: string, count: number][]): ActiveTotals {
  const all = runs.map(([name, status, count]) => ({ ...owner, name, status, count }))
  return { ...owner, since: 1, runs: all, jobs: [] }
}

it('identifies a project by owner and ID, whatever names the operator configures', () => {
  expect(resource()).toMatchObject({
    'service.name': 'Checkout',
    'service.namespace': 'shop/backend',
    'service.instance.id': '42',
  })
  expect(resource({ resourceAttributes: { 'service.namespace': 'own', 'service.instance.id': 'x' } })).toMatchObject({
    'service.namespace': 'own',
    'service.instance.id': '42',
  })
})

it('merges the statuses of one state into one data point', () => {
  const settings = telemetrySettings({ profiles })
  const [{ points } = { points: [] }] = activeData(
    active(['a', 'pending', 2], ['a', 'created', 1], ['a', 'running', 4]),
    9,
    settings,
  )
  expect(points.map(({ attributes, value }) => [attributes['cicd.pipeline.run.state'], value])).toEqual([
    ['pending', 3],
    ['executing', 4],
  ])
})

it('limits the series of active runs without losing a run', () => {
  const settings = telemetrySettings({ profiles, maxSeries: 2 })
  const [{ points } = { points: [] }] = activeData(
    active(['a', 'running', 1], ['b', 'running', 2], ['c', 'running', 3]),
    9,
    settings,
  )
  expect(points.map(({ attributes, value }) => [attributes, value])).toEqual([
    [{ 'cicd.pipeline.name': 'a', 'cicd.pipeline.run.state': 'executing' }, 1],
    [{ 'otel.metric.overflow': true }, 5],
  ])
})

it('counts active jobs by state and runner, and reports how long the oldest has waited', () => {
  const settings = telemetrySettings({ profiles })
  const job = { ...owner, state: 'pending' as const, tagSet: 'gpu' }
  const jobs = [
    { ...job, workerType: 'group_type', count: 2, oldest: 4_000 },
    { ...job, count: 1, oldest: 2_000 },
    { ...owner, state: 'running' as const, tagSet: 'gpu', count: 3 },
  ]
  const [counts, waits] = activeData({ ...owner, since: 1, runs: [], jobs }, 9_000, settings)
  expect(counts?.points.map(({ attributes, value }) => [Object.values(attributes).join(' '), value])).toEqual([
    ['pending group_type gpu', 2],
    ['pending gpu', 1],
    ['running gpu', 3],
  ])
  expect(waits?.points.map(({ attributes, value }) => [Object.values(attributes).join(' '), value])).toEqual([
    ['gpu', 7],
  ])
})

const count = { name: 'things', unit: '{thing}', number: 'int', description: 'Things.', type: 'updowncounter' } as const
const withoutKind = telemetrySettings({ profiles, drop: ['kind'], gauges: [count] })

function valuesOf(metric: string, ...values: FoundPoint['value'][]): unknown[] {
  const points = values.map((value, at) => ({ metric, attributes: { kind: String(at), place: 'here' }, value }))
  const found = gaugesData({ instance: owner.key.instance, profile: 'generic', points }, 10_000, withoutKind)
  return found.flatMap(one => one.points.map(({ attributes, value }) => ({ ...attributes, value })))
}

it('adds up counts and histograms, and keeps the longest age, the shortest remaining time and otherwise the first gauge value', () => {
  expect(valuesOf('things', 3, 4)).toEqual([{ place: 'here', value: 7 }])
  expect(valuesOf('answer', 3, 4)).toEqual([{ place: 'here', value: 3 }])
  expect(valuesOf('age', { since: 4_000 }, { since: 2_000 })).toEqual([{ place: 'here', value: 8 }])
  expect(valuesOf('due', { until: 14_000 }, { until: 12_000 })).toEqual([{ place: 'here', value: 2 }])
  const waits = (...counts: number[]) => ({ began: 1, bounds: [5], counts, sum: 6 })
  const value = { bounds: [5], counts: [3, 1], sum: 12 }
  expect(valuesOf('waits', waits(1, 0), waits(2, 1))).toEqual([{ place: 'here', value }])
})

const runners = [{ metric: 'platform.runner.count', attributes: {}, value: 3 }]

function textOf(instance: string, namesInstances: boolean): string {
  const found = { instance, profile: 'generic', group: 'team', points: runners }
  const settings = telemetrySettings({ namesInstances })
  const metrics = resourceMetrics(measuredResource(found, settings), gaugesData(found, 1_000, settings))
  return Buffer.from(encodeResourceMetrics([metrics])).toString('latin1')
}

it('distinguishes the gauges of groups with the same path if several platforms are configured, and otherwise leaves their resource unchanged', () => {
  const [one, two] = ['https://git.example.com', 'https://git.example.org']
  expect(textOf(one, true)).toContain('service.instance.id')
  expect(textOf(one, true)).not.toBe(textOf(two, true))
  expect(textOf(one, false)).toBe(textOf(two, false))
  expect(textOf(one, false)).not.toContain('service.instance.id')
})
