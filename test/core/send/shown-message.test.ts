// Tests how a stored message is shown to people, for example on the page of a dead letter.
import { describe, expect, it } from 'vitest'
import { contentsOf, messageAsJson } from '../../../src/core/send/shown-message.ts'
import { encodeLogs, encodeMetrics, encodeTraces } from '../../../src/core/telemetry/encode.ts'
import { messagesBy, type Encode } from '../../../src/core/send/messages.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { stories } from '../telemetry/stories.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { signals, type Signal } from '../../../src/core/store/ports/outbox.ts'

const settings = telemetrySettings({ profiles })
const notification = { text: 'The pipeline of main is broken.' }
const encoders: Readonly<Record<Signal, Encode>> = {
  traces: chunk => encodeTraces([chunk], settings),
  logs: chunk => encodeLogs([chunk], settings),
  metrics: chunk => encodeMetrics([chunk], settings),
  notifications: () => Buffer.from(JSON.stringify(notification)),
}

/** Returns the body of a stored message about a finished pipeline. */
function stored(signal: Signal): Uint8Array {
  const [chunk] = stories.success!
  const [message] = messagesBy(() => encoders[signal])(chunk!, [{ destination: 'default', signal }])
  return message!.body
}

describe('a stored message', () => {
  it.each([
    ['traces', 'job: compile', { 'job.status': 'success' }],
    ['logs', 'Job success: compile (build)', { 'log.source': 'job' }],
    ['metrics', 'job.duration_seconds', {}],
    ['notifications', 'Message', notification],
  ] as const)('of %s is shown with the names and attributes of its contents', (signal, name, attributes) => {
    const shown = contentsOf(signal, stored(signal))
    expect(shown).toContainEqual({ name, attributes: expect.objectContaining(attributes) as unknown })
  })

  it('is not shown if it is damaged', () => {
    for (const signal of signals) {
      const damaged = stored(signal).subarray(0, -3)
      expect([contentsOf(signal, damaged), messageAsJson(signal, damaged)]).toEqual([undefined, undefined])
    }
  })
})
