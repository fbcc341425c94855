// Tests which events wait for the span of a job, if several features process events.
import { event } from '../store/events-exercise.ts'
import { expect, it } from 'vitest'
import { reportsOf } from '../../../src/core/take-in/events.ts'
import { t0 } from '../../flow/world.ts'
import type { JobWait } from '../../../src/core/store/ports/runs.ts'
import type { LineStep } from '../../../src/core/store/ports/reporter.ts'

const rules = {
  ...{ to: [{ destination: 'default', signal: 'logs' }] as const, profile: 'generic', wait: 60_000 },
  onTaken: () => undefined,
}
// The event is not stored, so the span is never read.
const wait: JobWait = {
  jobId: 70,
  spanOf: function* () {
    return undefined
  },
}
/** A feature that knows no jobs of events, one that knows none of these events, and one that knows the job of a deployment. */
const steps: readonly LineStep[] = [
  {},
  { jobOf: () => undefined },
  { jobOf: ({ kind }) => (kind === 'deployment' ? wait : undefined) },
]

it("delays an event until its job's span is known only if some feature knows the job", () => {
  const received = [event('on', { kind: 'deployment' }), event('off')].map(one => ({ event: one, receivedAt: t0 }))
  const { events } = reportsOf(received, { events: rules, steps })
  expect(events.map(({ waits }) => waits)).toEqual([{ ...wait, ms: 60_000 }, undefined])
})
