// Cumulative metrics: whose they are, and the limit of series of runs under way.
import { expect, it } from 'vitest'
import { activeData, projectResource, type ActiveTotals } from '../../../src/core/telemetry/metrics/cumulative.ts'
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

it('identifies a project by its owner and id, whatever name the operator configures', () => {
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

it('joins the statuses of one state into one point', () => {
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

it('limits the series of active runs without forgetting a run', () => {
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
