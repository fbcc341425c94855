import { expect, it } from 'vitest'
import { noticesOf, type Health } from '../../src/console/overview/notices.ts'
import type { ExportQueueStatus } from '../../src/console/exports/columns.ts'

const now = Date.UTC(2026, 5, 1, 12)
const fine: Health = {
  flow: {
    ...{ startedAt: now - 600_000, received: 10, accepted: 10, duplicate: 0, ignored: {}, refused: [] },
    ...{ apiClients: {}, platformErrors: [], platformAnswered: false },
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
  ...{ destination: 'default', signal: 'traces', state: 'closed' },
  ...{ pending: 3, oldest: now - 300_000, putOff: 0, dead: 0 },
  counters: { delivered: 0, repeated: 0, partiallyRejected: 0 },
}
const lastError = { message: 'token expired', status: 401, at: now }

it('shows no notice if there is no problem', () => {
  expect(noticesOf(fine, now)).toEqual([])
})

const alike: ExportQueueStatus = { ...queue, state: 'half-open', cause: 'unauthorized', lastError }
const off = { ...fine.setup, destinations: [] }

/** The `what` arguments are strings that the notice must contain, in its description of the problem or in its remedy. */
it.each<[name: string, health: Partial<Health>, ...what: string[]]>([
  [
    'refused credentials',
    { queues: [alike] },
    'traces. The last error: 401, token expired.',
    'a valid token',
    '3 exports',
  ],
  [
    'a backend that refuses everything',
    { queues: [{ ...queue, state: 'open', cause: 'unacceptable', nextTry: now + 20_000 }] },
    ...['"default" has refused every single export of traces', 'is an OTLP/HTTP receiver', 'one is tried in 20 s.'],
  ],
  [
    'an unavailable backend',
    { queues: [{ ...queue, state: 'open', cause: 'unavailable', pending: 1 }] },
    ...['does not accept traces at the moment.', 'soon; 1 export is pending', 'the oldest from 5 min ago'],
  ],
  [
    'exports for a destination that was removed',
    { queues: [{ ...queue, state: 'unserved' }] },
    'Configure a destination',
  ],
  [
    'exports for an endpoint that a destination no longer has',
    { queues: [{ ...queue, destination: 'tempo@1f3c9a2b', state: 'held' }] },
    ...['previous endpoint of "tempo"', 'pipespan held confirm tempo', 'pipespan held drop tempo'],
  ],
  [
    'dead letters',
    { queues: [{ ...queue, dead: 2 }] },
    '2 exports were refused for good',
    'send the exports again or drop them',
  ],
  ['no destination', { setup: off }, 'nothing is exported', 'set OTEL_EXPORTER_OTLP_ENDPOINT'],
  ['exports that are switched off', { setup: { ...off, isExportOff: true } }, '(PIPESPAN_OBSERVABILITY_EXPORT=none)'],
  ['deliveries that were not decoded', { quarantined: 1 }, '1 delivery could not be decoded', 'pipespan inbox list'],
  [
    'a wrong secret',
    { flow: { ...fine.flow, refused: [{ reason: 'token', message: 'It is wrong.', count: 4 }] } },
    ...['4 deliveries were refused since the start: It is wrong.', 'to the value of PIPESPAN_WEBHOOK_TOKEN'],
  ],
  [
    'two signals that one destination refuses for the same reason',
    {
      queues: [alike, { ...alike, signal: 'logs', pending: 2 }, { ...queue, signal: 'metrics', pending: 7 }],
    },
    ...['the credentials for traces and logs.', '5 exports are pending'],
  ],
  [
    'webhooks that the platform has switched off',
    { hooksOff: ['#8 of project team/shop'] },
    ': #8 of project team/shop.',
    'a test event',
  ],
  [
    'a platform that rejects the token',
    {
      flow: { ...fine.flow, platformErrors: [{ name: 'default', what: 'It refuses the token.', remedy: 'Check it.' }] },
    },
    ...['It refuses the token.', 'Check it.'],
  ],
  [
    'a daemon that has received nothing',
    { hasRuns: false, flow: { ...fine.flow, received: 0 } },
    ...['the daemon started 10 min ago', 'points at https://pipespan.example.com/webhooks'],
  ],
])('shows one notice about %s, and says what to do', (_, change, ...what) => {
  const notices = noticesOf({ ...fine, ...change }, now)
  expect(notices).toHaveLength(1)
  for (const part of what) expect(`${notices[0]?.what} ${notices[0]?.remedy}`).toContain(part)
})
