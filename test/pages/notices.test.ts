import { expect, it } from 'vitest'
import { noticesOf, type Health } from '../../src/pages/notices.ts'
import type { ExportQueueStatus } from '../../src/pages/ports.ts'

const now = Date.UTC(2026, 5, 1, 12)
const fine: Health = {
  flow: {
    ...{ startedAt: now - 600_000, received: 10, accepted: 10, duplicate: 0, ignored: {}, refused: [], apiClients: {} },
    ...{ processed: 10, unparseable: 0, excluded: 0, attempts: 2, supplements: 0 },
  },
  inbox: { waiting: 0, waitingBytes: 0, quarantined: 0 },
  queues: [],
  setup: {
    ...{ webhooks: 'https://pipespan.example.com/webhooks', hasPlatformToken: false, hasWebhookSecret: true },
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

it('has nothing to say where all is well', () => {
  expect(noticesOf(fine, now)).toEqual([])
})

it.each<[string, Partial<Health>, string, string]>([
  [
    'refused credentials',
    { queues: [{ ...queue, state: 'half-open', cause: 'unauthorized', lastError }] },
    '"default" does not accept the credentials for traces. It said: 401, token expired.',
    'Give it a valid token; it is used at once. Nothing is lost: 3 exports wait for "default".',
  ],
  [
    'a backend that refuses everything',
    { queues: [{ ...queue, state: 'open', cause: 'unacceptable', nextTry: now + 20_000 }] },
    '"default" has refused every single export of traces since the start.',
    'Check that its endpoint is an OTLP/HTTP receiver. Nothing is given up: 3 exports wait for "default", and one is tried in 20 s.',
  ],
  [
    'a backend that is away',
    { queues: [{ ...queue, state: 'open', cause: 'unavailable', pending: 1 }] },
    '"default" cannot take traces at the moment.',
    'It is tried again soon; 1 export waits for "default", the oldest came 5 min ago. If it lasts, look at the backend.',
  ],
  [
    'exports for a destination that is gone',
    { queues: [{ ...queue, state: 'unserved' }] },
    '3 exports wait for "default" (traces), which is not configured any more.',
    'Configure a destination of that name again, or let them be pruned.',
  ],
  [
    'dead letters',
    { queues: [{ ...queue, dead: 2 }] },
    '2 exports were refused for good by a backend.',
    'See what the backend said, then send them again or drop them.',
  ],
  [
    'no destination',
    { setup: { ...fine.setup, destinations: [] } },
    'No destination is configured: nothing is exported.',
    'Set OTEL_EXPORTER_OTLP_ENDPOINT to the OTLP/HTTP endpoint of your backend.',
  ],
  [
    'deliveries that were not understood',
    { inbox: { waiting: 0, waitingBytes: 0, quarantined: 1 } },
    '1 delivery could not be decoded and is quarantined.',
    'See why on the page of sources, or with `pipespan inbox list`; try again after an upgrade.',
  ],
  [
    'deliveries that wait',
    { inbox: { waiting: 40, waitingBytes: 1, quarantined: 0, oldest: now - 120_000 } },
    'Deliveries wait to be processed: 40 of them, the oldest came 2 min ago.',
    'The log says what holds them up; if there is nothing, this machine is too small for the load.',
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
    'Give the hook the secret token that PIPESPAN_WEBHOOK_TOKEN holds; test it on the platform’s page of the hook.',
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
    '"default" does not accept the credentials for traces and logs. It said: 401, token expired.',
    'Give it a valid token; it is used at once. Nothing is lost: 5 exports wait for "default".',
  ],
  [
    'hooks that the platform has switched off',
    { hooksOff: ['#8 of project team/shop'] },
    'The platform has switched off a hook, and sends nothing: #8 of project team/shop.',
    'See there why its deliveries failed, mend that, and send a test event: it is switched on again.',
  ],
  [
    'a platform that does not answer',
    { flow: { ...fine.flow, platformError: { what: 'The platform does not accept the token.', remedy: 'Check it.' } } },
    'The platform does not accept the token.',
    'Check it.',
  ],
  [
    'silence',
    { hasRuns: false, flow: { ...fine.flow, received: 0 } },
    'Nothing has arrived yet; the daemon started 10 min ago.',
    'Add a webhook for pipeline events and job events that points at https://pipespan.example.com/webhooks, with the same secret token as here.',
  ],
])('tells of %s, and what to do', (_, change, what, remedy) => {
  expect(noticesOf({ ...fine, ...change }, now)).toMatchObject([{ what, remedy }])
})
