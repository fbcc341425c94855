// Tests the log records of events: their names, times and resources, and the operator's attribute settings.
import { describe, expect, it } from 'vitest'
import { decodeLogs, type ReceivedLogRecord } from '../../support/otlp-decode.ts'
import { encodeLogs, encodeMetrics, encodeTraces } from '../../../src/core/telemetry/encode.ts'
import { eventChunk, type EventChunk, type PlatformEvent } from '../../../src/model/event.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { telemetrySettings, type TelemetryOptions } from '../../../src/core/telemetry/settings.ts'
import { version } from '../../../src/lib/version.ts'

const at = Date.UTC(2026, 5, 1, 12)
const receivedAt = at + 1_500

const deployment: PlatformEvent = {
  instance: 'https://git.example.com',
  kind: 'deployment',
  name: 'platform.deployment',
  at,
  severity: 'error',
  body: 'Deployment failed: production',
  attributes: { 'deployment.id': '15', 'platform.deployment.status': 'failed', 'user.name': 'ada' },
  project: { id: 71, name: 'Shop', path: 'team/shop' },
  object: 'o',
  content: 'c',
}

function sent(event: Partial<PlatformEvent>, options: TelemetryOptions = {}, profile = 'generic'): ReceivedLogRecord {
  const chunk = eventChunk({ ...deployment, ...event }, receivedAt, profile)
  // The chunk as the store returns it.
  const stored = JSON.parse(JSON.stringify(chunk)) as EventChunk
  const [record, ...others] = decodeLogs(encodeLogs([stored], telemetrySettings({ profiles, ...options })))
  expect(others).toEqual([])
  return record!
}

describe('an event', () => {
  it('exports an event as a named log record without a span, and not in any other signal', () => {
    expect(sent({})).toMatchObject({
      eventName: 'platform.deployment',
      time: at,
      observedNanos: BigInt(receivedAt) * 1_000_000n,
      severityNumber: 17,
      severityText: '',
      body: 'Deployment failed: production',
      traceId: undefined,
      spanId: undefined,
      attributes: deployment.attributes,
      scope: { name: 'pipespan.events', version },
    })
    const chunk = eventChunk(deployment, receivedAt, 'generic')
    const settings = telemetrySettings({ profiles })
    expect(encodeTraces([chunk], settings)).toHaveLength(0)
    expect(encodeMetrics([chunk], settings)).toHaveLength(0)
  })

  it('uses the time at which an event was received if the platform reports no time', () => {
    expect(sent({ at: undefined }).time).toBe(receivedAt)
  })

  it('names an event under the namespace of the profile that received it', () => {
    const { eventName, attributes } = sent({}, {}, 'gitlab')
    expect(eventName).toBe('gitlab.deployment')
    expect(attributes).toHaveProperty(['gitlab.deployment.status'], 'failed')
  })

  it("also exports the event's name as an attribute if configured", () => {
    expect(sent({}).attributes).not.toHaveProperty(['event.name'])
    expect(sent({}, { eventNameAttribute: true }, 'gitlab').attributes).toHaveProperty(
      ['event.name'],
      'gitlab.deployment',
    )
  })

  it('uses the group, or else the instance, as the service name of an event without a project, unless one is configured', () => {
    const of = (event: Partial<PlatformEvent>, options?: TelemetryOptions): unknown =>
      sent({ project: undefined, ...event }, options).resource.attributes['service.name']
    expect(of({ group: 'team' })).toBe('team')
    expect(of({})).toBe('git.example.com')
    expect(of({ group: 'team' }, { serviceName: 'ci' })).toBe('ci')
    expect(sent({ project: undefined }).resource.attributes).not.toHaveProperty(['platform.vcs.repository.id'])
  })

  it('drops and hashes the attributes of an event as configured by the operator', () => {
    const { attributes } = sent({}, { drop: ['deployment.*'], hash: ['user.name'] })
    expect(attributes).not.toHaveProperty(['deployment.id'])
    expect(attributes['user.name']).toMatch(/^[0-9a-f]{32}$/)
  })
})
