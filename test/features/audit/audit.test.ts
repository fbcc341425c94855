// Tests audit events on both databases. Each event is exported exactly once, even if pages overlap, events appear late in the list, or processes
// crash at any moment.
import { describe, expect, it } from 'vitest'
import { day, hour, minute, second, t0 } from '../../flow/world.ts'
import { keyMemory } from '../../../src/core/store/sql/take-in.ts'
import { auditBackfills, auditCursors } from '../../../src/features/audit/documents.ts'
import { openAuditWorld } from './audit-world.ts'
import { bothDatabases, sqliteBench } from '../../core/store/benches.ts'
import { restFaults } from '../../support/rest-faults.ts'

const longest = 30 * day

describe.each(bothDatabases())('audit events on %s', (_, bench) => {
  it('exports each audit event within the look-back period once, even late ones, and none again after a week of downtime', async () => {
    await using world = await openAuditWorld(await bench())
    world.happen(t0 - 25 * hour)
    const before = Array.from({ length: 130 }, (_one, n) => world.happen(t0 - day + n * minute))
    await world.poller().round()
    expect(await world.exported()).toEqual(before)

    world.bench.move(minute)
    const next = world.happen(t0 + 30 * second)
    await world.poller().round()
    const late = world.happen(t0 - 3 * minute)
    await world.poller().round()
    expect(await world.exported()).toEqual([next, late])
    expect(world.stretches().every(ms => ms <= day + 10 * minute)).toBe(true)

    // By now, the store has deleted the deduplication keys of the exported events.
    world.bench.move(keyMemory + day)
    while ((await world.store.pruning.events(world.bench.now() - keyMemory, 500)) > 0);
    const after = world.happen(world.bench.now() - hour)
    await world.poller().round()
    expect(await world.exported()).toEqual([after])
  })

  it('catches up on audit events after forty days of downtime, in windows of 30 days, even after a crash between two pages', async () => {
    await using world = await openAuditWorld(await bench())
    const first = world.happen(t0 - minute)
    await world.poller().round()
    expect(await world.exported()).toEqual([first])
    const many = Array.from({ length: 260 }, (_one, n) => world.happen(t0 + n * 3.5 * hour))
    world.bench.move(40 * day)
    world.stretches()
    const got: number[] = []
    for (const pages of [1, 1, Infinity]) {
      let left = pages
      world.api.misbehave = ({ path }) => (path === '/audit_events' && left-- <= 0 ? restFaults.broken() : undefined)
      const poller = world.poller()
      await poller.round()
      await poller.stop()
      got.push(...(await world.exported()))
      const [cursor] = await world.store.repositories.of(auditCursors).all()
      expect(cursor?.reading?.next !== undefined).toBe(pages < Infinity)
    }
    expect(got).toEqual(expect.arrayContaining(many))
    expect(got).toHaveLength(many.length)
    expect(got).not.toContain(first)
    expect(world.stretches().every(ms => ms <= longest)).toBe(true)
  })

  it('resumes a backfill of audit events where it stopped, and exports nothing in a second backfill, even weeks later', async () => {
    await using world = await openAuditWorld(await bench())
    const past = Array.from({ length: 260 }, (_one, n) => world.happen(t0 - 40 * day + n * 3.5 * hour))
    await world.poller().round()
    const range = { since: t0 - 40 * day, until: t0 }
    const dry = await world.backfill({ range, dryRun: true })
    expect(dry).toMatchObject({ share: 1, failed: [], full: false })
    expect(dry.seen).toBeGreaterThan(250)
    expect(await world.store.repositories.of(auditBackfills).all()).toEqual([])
    world.stretches()
    for (const after of [1, 2, 2]) {
      const stopping = new AbortController()
      let pages = 0
      const onProgress = (): void => {
        if ((pages += 1) >= after) stopping.abort(new Error('killed'))
      }
      const call = { priority: 'backfill' as const, signal: stopping.signal }
      // If the backfill had read all pages before the crash, it resolves, so the test does not require an error.
      await world
        .backfill({ range, call, onProgress })
        .catch((error: unknown) => expect(String(error)).toContain('killed'))
    }
    const asked = world.stretches()
    expect(asked.every(ms => ms <= longest)).toBe(true)
    await world.backfill({ range })
    expect(await world.exported()).toEqual(past)

    world.bench.move(3 * 7 * day)
    while ((await world.store.pruning.events(world.bench.now() - keyMemory, 500)) > 0);
    expect(await world.backfill({ range })).toMatchObject({ seen: 0, share: 1 })
    expect(await world.exported()).toEqual([])
  })

  it('reads new and past audit events of projects by path or id, and exports them once even if their group is also a source', async () => {
    await using world = await openAuditWorld(await bench())
    const entity = { type: 'Project', id: 333, path: 'brightwater/data/reports' } as const
    const old = world.happen(t0 - 3 * day, { entity })
    const ids = [world.happen(t0 - 2 * minute), world.happen(t0 - minute, { entity })]
    world.happen(t0 - minute, { entity: { type: 'Group', id: 77, path: 'brightwater' } })
    const sources = ['project:brightwater/shop/storefront', 'project:333', 'brightwater/data']
    await world.poller({ sources }).round()
    expect(await world.exported()).toEqual(ids)
    const paths = new Set(world.api.asked.map(({ path }) => path))
    expect([...paths]).toEqual([
      '/projects/brightwater/shop/storefront/audit_events',
      '/projects/333/audit_events',
      '/groups/brightwater/data/audit_events',
    ])
    await world.backfill({ sources, range: { since: t0 - 4 * day, until: t0 } })
    expect(await world.exported()).toEqual([old])
  })
})

describe('the audit event reader', () => {
  it('tolerates repeated and overlapping pages of audit events, stops reading a list that repeats itself, and reads its new events once the repetition ends', async () => {
    await using world = await openAuditWorld(await sqliteBench())
    const ids = Array.from({ length: 12 }, (_one, n) => world.happen(t0 - n * minute))
    const page = async (query: string): Promise<unknown[]> => {
      const url = new URL(`${world.api.url}/api/v4/audit_events?created_after=2026-01-01T00:00:00Z&${query}`)
      return (await (await fetch(url)).json()) as unknown[]
    }
    const all = await page('per_page=100')
    const reply = (items: unknown[], next: string | undefined) => ({
      status: 200,
      headers: next === undefined ? {} : { link: `<${world.api.url}/api/v4/audit_events?p=${next}>; rel="next"` },
      body: JSON.stringify(items),
    })
    let pages: Record<string, [number, number, string | undefined]> = {
      '': [0, 5, 'b'],
      b: [2, 5, 'c'],
      c: [5, 5, 'd'],
      d: [3, 9, 'e'],
      e: [12, 12, undefined],
    }
    world.api.misbehave = ({ path, query }) => {
      const [from, to, next] = pages[query.get('p') ?? ''] ?? [0, 0, undefined]
      return path === '/audit_events' ? reply(all.slice(from, to), next) : undefined
    }
    const poller = world.poller()
    await poller.round()
    expect((await world.exported()).length).toBe(9)

    pages = { '': [0, 5, 'b'], b: [5, 9, 'c'], c: [5, 9, 'b'] }
    world.bench.move(minute)
    const more = world.happen(t0 + second)
    world.stretches()
    await poller.round()
    // The reader sends three requests: two return new events, and one returns none.
    expect(world.stretches()).toHaveLength(3)
    expect(world.logged.map(({ msg }) => msg).join('\n')).toContain('The list of audit events repeats itself')
    world.api.misbehave = () => undefined
    await poller.round()
    await world.backfill({ range: { since: t0 - hour, until: t0 + minute } })
    expect(await world.exported()).toEqual([...ids.slice(0, 3), more])
  })

  it('reads a list of audit events from its beginning again if the platform rejects the page cursor', async () => {
    await using world = await openAuditWorld(await sqliteBench())
    const ids = Array.from({ length: 130 }, (_one, n) => world.happen(t0 - n * minute))
    let left = 1
    world.api.misbehave = ({ path }) => (path === '/audit_events' && left-- <= 0 ? restFaults.broken() : undefined)
    const poller = world.poller()
    await poller.round()
    world.api.misbehave = ({ query }) =>
      query.has('cursor') && left++ < 0 ? restFaults.refused('cursor is invalid') : undefined
    await poller.round()
    await poller.round()
    expect(await world.exported()).toEqual(ids.toSorted((a, b) => a - b))
  })

  it('exports an audit event dated in the future without missing later ones, and misses none after the clock is set back', async () => {
    await using world = await openAuditWorld(await sqliteBench())
    world.happen(t0 + 3 * day)
    await world.poller().round()
    world.bench.move(10 * minute)
    const present = world.happen(t0 + 9 * minute)
    await world.poller().round()
    expect(await world.exported()).toEqual([70_001, present])

    world.bench.move(5 * day)
    await world.poller().round()
    world.bench.move(-4 * day)
    const again = world.happen(world.bench.now() - minute)
    await world.poller().round()
    await world.poller().round()
    expect(await world.exported()).toEqual([again])
  })

  it("records that the platform refuses a group's audit events, retries a day later, and does not affect other groups", async () => {
    await using world = await openAuditWorld(await sqliteBench())
    const id = world.happen(t0 - minute)
    const poller = world.poller({ sources: ['brightwater/mobile', 'brightwater'] })
    world.api.misbehave = ({ path }) =>
      path === '/groups/brightwater/mobile/audit_events' ? restFaults.notFound('Group') : undefined
    for (let round = 0; round < 3; round += 1) await poller.round()
    expect(await world.exported()).toEqual([id])
    expect(world.api.asked.filter(({ path }) => path.startsWith('/groups/brightwater/mobile'))).toHaveLength(1)
    expect(await world.store.repositories.refusedEndpoints.all()).toMatchObject([
      {
        what: 'audit events of group brightwater/mobile',
        status: 404,
        message: expect.stringContaining('does not have this') as string,
      },
    ])
    world.bench.move(day + hour)
    world.api.misbehave = () => undefined
    await poller.round()
    expect(await world.store.repositories.refusedEndpoints.all()).toEqual([])
  })

  it('writes no audit events into a full store', async () => {
    await using world = await openAuditWorld(await sqliteBench())
    const ids = [1, 2].map(n => world.happen(t0 - n * minute))
    await world.poller({ isFull: async () => true }).round()
    expect(await world.exported()).toEqual([])
    await world.poller().round()
    expect(await world.exported()).toEqual(ids)
  })
})
