// Tests malformed payloads of events that are not about a pipeline. They are read, stored, mapped and encoded. Nothing may throw. Each record must be
// valid for a backend, the same whenever it is read, and without the fields that are never exported. A long run:
// PIPESPAN_FUZZ_RUNS=1000000 PIPESPAN_FUZZ_SEED=1 vitest run test/fuzz/events.test.ts --testTimeout 0
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeLogs } from '../support/otlp-decode.ts'
import { encodeLogs } from '../../src/core/telemetry/encode.ts'
import { everyEvent } from '../../src/platform/webhook/event-selection.ts'
import { eventChunk, type EventChunk } from '../../src/model/event.ts'
import { fuzzing, mutatedEvent } from './mutations.ts'
import { maxText } from '../../src/platform/wire-read.ts'
import { parseDelivery } from '../../src/platform/webhook/parse-delivery.ts'
import type { Parsed } from '../../src/platform/port/webhook.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { telemetrySettings } from '../../src/core/telemetry/settings.ts'

const settings = telemetrySettings({ profiles, eventNameAttribute: true })
const receivedAt = Date.UTC(2026, 6, 1)

function read(event: string, body: string): Parsed {
  const reported = { event, instance: 'https://git.example.com', body: Buffer.from(body) }
  return parseDelivery(reported, { profile: profiles.generic, traceparent: false, events: everyEvent })
}

/** Asserts like `expect`, but fast enough for millions of calls. */
function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not true: ${what}`)
}

it('turns any event into one record that can be sent, or reports why it cannot', () => {
  const outcomes: Record<string, number> = {}
  fc.assert(
    fc.property(mutatedEvent, ({ event, body }) => {
      const parsed = read(event, body)
      outcomes[parsed.outcome] = (outcomes[parsed.outcome] ?? 0) + 1
      if (parsed.outcome === 'unparseable')
        must(!parsed.reason.includes('report it'), `it is foreseen: ${parsed.reason}`)
      if (parsed.outcome !== 'event') return
      must(JSON.stringify(read(event, body)) === JSON.stringify(parsed), 'it is read alike whenever it is read')
      const stored = JSON.parse(JSON.stringify(eventChunk(parsed.event, receivedAt, 'gitlab'))) as EventChunk
      const [record, ...others] = decodeLogs(encodeLogs([stored], settings))
      must(record !== undefined && others.length === 0, 'it is one record')
      if (record === undefined) return
      const { nanos, eventName, attributes, body: shown, resource } = record
      must(nanos > 0n && nanos < 2n ** 63n, 'it has a time')
      must(/^gitlab\.[a-z_.]+$/.test(eventName) && attributes['event.name'] === eventName, 'it has a name')
      must(
        typeof shown === 'string' && shown.length <= maxText && !/[\n\r\0]/.test(shown),
        'its body is one short line',
      )
      must(typeof resource.attributes['service.name'] === 'string', 'it is of a service')
      const json = JSON.stringify(attributes)
      must(!/@example|avatar|password|Secret plans/.test(json), 'it has nothing that is never exported')
      for (const value of Object.values(attributes)) {
        if (typeof value === 'string')
          must(value !== '' && value.isWellFormed() && value.length <= maxText, 'texts are sound')
        if (typeof value === 'number') must(Number.isSafeInteger(value), 'counts are whole')
      }
    }),
    fuzzing(2_000),
  )
  expect(outcomes.event).toBeGreaterThan(0)
  expect(Object.prototype).not.toHaveProperty('polluted')
})
