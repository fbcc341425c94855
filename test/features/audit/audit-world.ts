// Provides the simulated platform's audit events over its real REST API, and the daemon's readers of audit events on a real store. Both use one clock
// that the test moves.
import { chunkOf } from '../../support/of-run.ts'
import { pino } from 'pino'
import { auditBackfill, type AuditBackfillOptions } from '../../../src/features/audit/backfill.ts'
import { auditTaking } from '../../../src/features/audit/audit-window.ts'
import { createAuditPoller, type AuditOptions, type AuditPoller } from '../../../src/features/audit/audit.ts'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { createInMemoryBudget } from '../../../src/platform/rest/budget.ts'
import { createPlatformClient, type RestClient } from '../../../src/platform/rest/client.ts'
import { day, everything, minute } from '../../flow/world.ts'
import { isEvent, type EventChunk } from '../../../src/model/event.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'
import { users } from '../../../src/simulator/platform/world.ts'
import type { Bench } from '../../core/store/benches.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import type { SimAuditEvent } from '../../../src/simulator/platform/records.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const exportQueue = { destination: 'default', signal: 'logs' } as const

export interface AuditWorld extends AsyncDisposable {
  readonly api: RestApi
  readonly state: PlatformState
  readonly client: RestClient
  readonly store: Store
  readonly bench: Bench
  readonly logged: { readonly level: number; readonly msg: string }[]
  /** Creates an audit event at this time and returns its number. `more` overrides other fields of the event. */
  happen(at: number, more?: Partial<SimAuditEvent>): number
  poller(options?: Partial<AuditOptions>): AuditPoller
  backfill(
    options: Pick<AuditBackfillOptions, 'range'> & Partial<AuditBackfillOptions>,
  ): ReturnType<typeof auditBackfill>
  /** Returns the numbers of the events added to the outbox since the last call, in order. */
  exported(): Promise<number[]>
  chunks(): Promise<EventChunk[]>
  /** Returns, for each request for audit events since the last call, the length of the period that it covered, ms. */
  stretches(): number[]
}

export async function openAuditWorld(bench: Bench, { skew = 0 } = {}): Promise<AuditWorld> {
  const state = new PlatformState()
  const api = await RestApi.start({ state, now: () => bench.now() + skew })
  const store = await bench.open()
  const now = (): number => bench.now()
  const clock: Clock = { now, sleep: async ms => bench.move(ms) }
  const logged: { level: number; msg: string }[] = []
  const log = pino(
    { level: 'info' },
    { write: (line: string) => void logged.push(JSON.parse(line) as { level: number; msg: string }) },
  )
  const client = createPlatformClient({
    ...{ url: api.url, token: () => 'pat-1', tokenType: 'private' as const, clock, log },
    budget: createInMemoryBudget({ perMinute: 100_000 }, clock),
    ...{ concurrency: 4, userAgent: 'Pipespan/test' },
    retry: { tries: 1, refusals: 1, first: 1, max: 1 },
  })
  const rules = { to: [exportQueue], profile: 'generic', wait: 0, onTaken: () => undefined }
  const take = auditTaking({ runs: store.runs, selection: everything, rules, now })
  const chunks = async (): Promise<EventChunk[]> => {
    const found: EventChunk[] = []
    for (;;) {
      const { token, items } = await store.outbox.lease(exportQueue, 1_000, minute)
      if (items.length === 0) return found
      await store.outbox.settle(
        token,
        items.map(({ id }) => ({ id, as: 'delivered' as const })),
      )
      found.push(...items.map(chunkOf).filter(isEvent))
    }
  }
  const shared = { client, take, repositories: store.repositories, sources: ['instance'], isFull: async () => false }
  return {
    ...{ api, state, client, store, bench, logged, chunks },
    happen: (at, more) =>
      state.audit.record({
        ...{ at, author: users[0], entity: { type: 'Project', id: 301, path: 'brightwater/shop/storefront' } },
        ...{ details: { change: 'visibility', from: 'Private', to: 'Internal' }, ...more },
      }).id,
    poller: options =>
      createAuditPoller({
        ...{ ...shared, name: 'audit', leases: store.leases, interval: minute, lookback: day, clock, log },
        ...{ errors: createErrorThrottle(log), ...options },
      }),
    backfill: async options =>
      auditBackfill({
        ...{ ...shared, call: { priority: 'backfill' as const }, name: 'test', dryRun: false },
        ...{ onProgress: () => undefined, now, ...options },
      }),
    exported: async () =>
      (await chunks()).map(({ event }) => Number(event.attributes['platform.audit.id'])).sort((a, b) => a - b),
    stretches: () =>
      api.asked.splice(0).flatMap(({ path, query }) => {
        const until = query.get('created_before')
        if (!path.endsWith('audit_events')) return []
        return (until === null ? bench.now() : Date.parse(until)) - Date.parse(query.get('created_after') ?? '')
      }),
    [Symbol.asyncDispose]: async () => {
      await client.close()
      await store.close()
      await api.close()
      await bench.dispose()
    },
  }
}
