import { expect, it } from 'vitest'
import { noticesOf, type Health } from '../../src/console/overview/notices.ts'
import type { ExportQueueStatus } from '../../src/console/exports/columns.ts'

const now = Date.UTC(2026, 5, 1, 12)
const fine: Health = {
  flow: {
    ...{
      startedAt: now - 600_000,
      received: 10,
      accepted: 10,
      duplicate: 0,
      ignored: {},
      refused: [],
      apiClients: {},
      platformErrors: [],
      platformAnswered: false,
    },
    ...{ processed: 10, unparseable: 0, excluded: 0, attempts: 2, supplements: 0, unrouted: 0 },
  },
  quarantined: 0,
  queues: [],
  setup: {
    ...{ webhooks: 'https://pipespan.example.com/webhooks', hasPlatformToken: false, hasWebhookSecret: true },
    isExportOff: false,
    platforms: [],
    destinations: [{ name: 'default', endpoints: [] }],
  },
  hooksOff: [],
  hasRuns: true,
}
const queue: ExportQueueStatus = {
  ...{
    destination: 'default',
    signal: 'traces',
    state: 'closed',
    pending: 3,
    oldest: now - 300_000,
    putOff: 0,
    dead: 0,
  },
  counters: { delivered: 0, repeated: 0, partiallyRejected: 0 },
}
const lastError = { message: 'token expired', status: 401, at: now }

it('shows no notice if all is well', () => {
  expect(noticesOf(fine, now)).toEqual([])
})

it.each<[string, Partial<Health>, string, string]>([
  [
    'refused credentials',
    { queues: [{ ...queue, state: 'half-open', cause: 'unauthorized', lastError }] },
    '"default" does not accept the credentials for traces. The last error: 401, token expired.',
    'Give it a valid token; it is used at once. Nothing is lost: 3 exports are pending for "default".',
  ],
  [
    'a backend that refuses everything',
    { queues: [{ ...queue, state: 'open', cause: 'unacceptable', nextTry: now + 20_000 }] },
    '"default" has refused every single export of traces since the start.',
    'Check that its endpoint is an OTLP/HTTP receiver. Nothing is lost: 3 exports are pending for "default", and one is tried in 20 s.',
  ],
  [
    'a backend that is away',
    { queues: [{ ...queue, state: 'open', cause: 'unavailable', pending: 1 }] },
    '"default" does not accept traces at the moment.',
    'Next try soon; 1 export is pending for "default", the oldest from 5 min ago. If this persists, check the backend.',
  ],
  [
    'exports for a destination that is gone',
    { queues: [{ ...queue, state: 'unserved' }] },
    '3 exports are pending for "default" (traces), which is no longer configured.',
    'Configure a destination of that name again, or wait until retention removes them.',
  ],
  [
    'exports for an endpoint that a destination no longer has',
    { queues: [{ ...queue, destination: 'tempo@1f3c9a2b', state: 'held' }] },
    '3 exports are held for the endpoint that "tempo" had before (traces).',
    'Send them to the new endpoint with `pipespan held confirm tempo`, or drop them with `pipespan held drop tempo`.',
  ],
  [
    'dead letters',
    { queues: [{ ...queue, dead: 2 }] },
    '2 exports were refused for good by a backend.',
    'Read the backend’s errors, then send them again or drop them.',
  ],
  [
    'no destination',
    { setup: { ...fine.setup, destinations: [] } },
    'No destination is configured: nothing is exported.',
    'Set OTEL_EXPORTER_OTLP_ENDPOINT to the OTLP/HTTP endpoint of your backend.',
  ],
  [
    'exports that are switched off',
    { setup: { ...fine.setup, destinations: [], isExportOff: true } },
    'Nothing is exported (PIPESPAN_OBSERVABILITY_EXPORT=none).',
    'To export, set OTEL_EXPORTER_OTLP_ENDPOINT to the OTLP/HTTP endpoint of your backend, and remove `none`.',
  ],
  [
    'deliveries that were not understood',
    { quarantined: 1 },
    '1 delivery could not be decoded and is quarantined.',
    'See the reasons on the Sources page or with `pipespan inbox list`; retry them after an upgrade.',
  ],
  [
    'a wrong secret',
    {
      flow: {
        ...fine.flow,
        refused: [{ reason: 'token', message: 'The secret token is missing or wrong.', count: 4 }],
      },
    },
    '4 deliveries were refused since the start: The secret token is missing or wrong.',
    'Set the webhook’s secret token to the value of PIPESPAN_WEBHOOK_TOKEN, then send a test event from the platform.',
  ],
  [
    'two signals that one destination refuses alike, once',
    {
      queues: [
        { ...queue, state: 'half-open', cause: 'unauthorized', lastError },
        { ...queue, signal: 'logs', state: 'half-open', cause: 'unauthorized', lastError, pending: 2 },
        { ...queue, signal: 'metrics', pending: 7 },
      ],
    },
    '"default" does not accept the credentials for traces and logs. The last error: 401, token expired.',
    'Give it a valid token; it is used at once. Nothing is lost: 5 exports are pending for "default".',
  ],
  [
    'hooks that the platform has switched off',
    { hooksOff: ['#8 of project team/shop'] },
    'The platform has switched off a hook, and sends nothing: #8 of project team/shop.',
    'Check on the platform why its deliveries failed, fix the cause, and send a test event: that switches it on again.',
  ],
  [
    'a platform that does not answer',
    {
      flow: {
        ...fine.flow,
        platformErrors: [{ name: 'default', what: 'The platform does not accept the token.', remedy: 'Check it.' }],
      },
    },
    'The platform does not accept the token.',
    'Check it.',
  ],
  [
    'silence',
    { hasRuns: false, flow: { ...fine.flow, received: 0 } },
    'Nothing has arrived yet; the daemon started 10 min ago.',
    'Add a webhook for pipeline events and job events that points at https://pipespan.example.com/webhooks, with the same secret token as here.',
  ],
])('shows %s, with a remedy', (_, change, what, remedy) => {
  expect(noticesOf({ ...fine, ...change }, now)).toMatchObject([{ what, remedy }])
})
