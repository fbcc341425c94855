// Provides the simulated platform's REST API and an inventory with a real store, under one clock that the test moves.
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { createThingReader, type ThingReader } from '../../../src/core/find/thing-reader.ts'
import { createInMemoryBudget } from '../../../src/platform/rest/budget.ts'
import { createPlatformClient } from '../../../src/platform/rest/client.ts'
import { createSingleton } from '../../../src/core/find/rounds.ts'
import { openSqlite } from '../../support/stores.ts'
import { pino } from 'pino'
import { restJson } from '../../support/rest-faults.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'
import { thingsOf } from '../../../src/features/inventory/things.ts'
import type { Thing } from '../../../src/platform/port/asking.ts'
import type { CollectedEvent } from '../../../src/model/inventory.ts'
import type { Asking } from '../../../src/platform/port/asking.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import type { RetryRules } from '../../../src/platform/rest/request.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

export const minute = 60_000
export const hour = 60 * minute
export const day = 24 * hour

export interface InventoryWorld extends AsyncDisposable {
  readonly api: RestApi
  readonly store: Store
  readonly ask: Asking
  readonly warnings: string[]
  readonly events: { readonly event: CollectedEvent; readonly key: string }[]
  now(): number
  /** Makes the platform respond with this body to requests whose path matches. All other requests get the usual response. */
  answers(path: RegExp, body: unknown, status?: number): void
  /** Creates an inventory of the configured items, or of items that the test defines. */
  inventory(configured: Readonly<Record<string, readonly string[]>> | readonly Thing[]): ThingReader
  /** Runs the inventory's loop until `ms` have passed. */
  pass(inventory: ThingReader, ms: number): Promise<void>
  /** Returns the latest values of the gauges, by metric and attributes. */
  found(): Promise<Record<string, unknown>>
  /** Returns the paths requested since the last call. */
  asked(): string[]
}

/** Opens the simulated platform with an inventory. Without `retry`, each request is sent once. */
export async function openInventoryWorld(
  retry: RetryRules = { tries: 1, refusals: 1, first: 1, max: 1 },
): Promise<InventoryWorld> {
  let now = Date.UTC(2026, 5, 1, 12)
  const clock: Clock = {
    now: () => now,
    sleep: async ms => {
      now += ms
    },
  }
  const api = await RestApi.start({ state: new PlatformState(), now: () => now })
  const store = openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 })
  const warnings: string[] = []
  const log = pino(
    { level: 'warn' },
    { write: (line: string) => void warnings.push((JSON.parse(line) as { msg: string }).msg) },
  )
  const client = createPlatformClient({
    ...{ url: api.url, token: () => 'pat-1', tokenType: 'private' as const, clock, log },
    budget: createInMemoryBudget({ perMinute: 100_000 }, clock),
    ...{ concurrency: 4, userAgent: 'Pipespan/test' },
    retry,
  })
  const events: InventoryWorld['events'] = []
  return {
    ...{ api, store, warnings, events },
    ask: client.asking({ priority: 'inside' }),
    now: () => now,
    answers: (wanted, body, status) => {
      api.misbehave = ({ path }) => (wanted.test(path) ? restJson(body, status) : undefined)
    },
    inventory: configured =>
      createThingReader({
        things: isThings(configured) ? configured : thingsOf({ inventory: configured, queries: [] }),
        ...{ instance: api.url, client, profile: 'generic', repositories: store.repositories, clock, log },
        lease: createSingleton('inventory', store.leases, clock),
        errors: createErrorThrottle(log),
        redactText: createTextRedaction([]),
        onEvent: async (event, _owner, key) => void events.push({ event, key }),
      }),
    pass: async (inventory, ms) => {
      const until = now + ms
      while (now < until) now += Math.min(until - now, Math.max(1, await inventory.turn()))
      await inventory.turn()
    },
    found: async () => {
      const readings = await store.repositories.gaugeReadings.all()
      const points = readings.flatMap(reading => reading.points)
      return Object.fromEntries(
        points.map(({ metric, attributes, value }) => [[metric, ...Object.values(attributes)].join(' '), value]),
      )
    },
    asked: () => api.asked.splice(0).map(({ path }) => path),
    [Symbol.asyncDispose]: async () => {
      await client.close()
      await store.close()
      await api.close()
    },
  }
}

function isThings(configured: object): configured is readonly Thing[] {
  return Array.isArray(configured)
}
