// Tests the change metrics, computed from a fixed set of changes, when the operator drops or adds attributes.
import { expect, it } from 'vitest'
import { changesData } from '../../../src/features/deployments/metrics.ts'
import { eventChunk } from '../../../src/model/event.ts'
import { instance } from '../../flow/world.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'

const project = { id: 1, path: 'acme/shop' }
const known = { key: { instance, projectId: 1 }, project, profile: 'generic', since: 1 }

it('sums changes over all states if the state attribute is dropped', () => {
  const states = { open: 2, wip: 1, merged: 4 }
  const settings = telemetrySettings({ profiles, drop: ['vcs.change.state'] })
  const found = changesData({ ...known, states, open: [] }, 9, settings)
  expect(found.flatMap(({ points }) => points.map(({ value }) => value))).toEqual([7])
})

it('adds the attributes from merge request rules to the gauges and counters of changes', () => {
  const rule = { set: { lane: 'review' }, branches: ['merge_request'], metrics: true } as const
  const none = { projects: {}, sources: {}, jobs: {} }
  const settings = telemetrySettings({ profiles, attributeRules: [{ ...none, ...rule }] })
  const found = changesData({ ...known, states: { open: 1 }, open: [{ state: 'open', stateAt: 1 }] }, 9, settings)
  const points = found.flatMap(metric => metric.points)
  expect(points.length).toBeGreaterThan(1)
  for (const { attributes } of points) expect(attributes).toMatchObject({ lane: 'review' })
  const event = { instance, kind: 'change_figures', name: 'platform.vcs.change', severity: 'info', body: '' } as const
  const counted = eventChunk({ ...event, project, attributes: {}, object: 'o', content: 'c' }, 5, 'generic')
  expect(settings.custom!(counted).points).toEqual({ lane: 'review' })
})
