// Tests that a source of audit events that fails, or whose list never ends, does not keep other sources from being read.
import { describe, expect, it } from 'vitest'
import { day, minute, t0 } from '../../flow/world.ts'
import { openAuditWorld } from './audit-world.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { sqliteBench } from '../../core/store/benches.ts'

describe('failing audit event sources', () => {
  const failures = {
    401: () => restFaults.wrongToken(),
    "a proxy's 403": () => ({
      status: 403,
      headers: { 'content-type': 'text/html' },
      body: '<html><title>Blocked</title>',
    }),
    'a login page': () => restFaults.loginPage(),
    'a scope': () => restFaults.missingScope(),
    500: () => restFaults.broken(),
  }
  const good = 'project:333'
  const entity = { type: 'Project', id: 333, path: 'brightwater/data/reports' } as const

  it.each(Object.entries(failures))(
    'reads other sources of audit events without delay if one fails: %s',
    async (_, failure) => {
      await using world = await openAuditWorld(await sqliteBench())
      world.api.misbehave = ({ path }) => (path.startsWith('/groups') ? failure() : undefined)
      const poller = world.poller({ sources: ['brightwater', '..', good] })
      for (let round = 1; round < 4; round++) {
        const id = world.happen(world.bench.now() - minute, { entity })
        await poller.round()
        expect(await world.exported()).toEqual([id])
        world.bench.move(2 * minute)
      }
    },
  )

  it('reads working sources of audit events without delay however many others fail, and sends few requests if all sources fail', async () => {
    await using world = await openAuditWorld(await sqliteBench())
    const sources = [...Array.from({ length: 8 }, (_one, n) => `g${n}`), good]
    const poller = world.poller({ sources })
    world.api.misbehave = ({ path }) => (path.startsWith('/groups') ? restFaults.wrongToken() : undefined)
    const id = world.happen(t0 - minute, { entity })
    for (let round = 0; round < 4; round++) await poller.round()
    expect(await world.exported()).toEqual([id])
    world.api.misbehave = () => restFaults.wrongToken()
    world.api.asked.length = 0
    await poller.round()
    expect(world.api.asked.length).toBeLessThanOrEqual(3)
  })

  it.each([401, "a proxy's 403"] as const)(
    'skips failing audit event sources in a backfill, and names them: %s',
    async why => {
      await using world = await openAuditWorld(await sqliteBench())
      world.api.misbehave = ({ path }) => (path.startsWith('/groups') ? failures[why]() : undefined)
      const id = world.happen(t0 - day, { entity })
      const range = { since: t0 - 2 * day, until: t0 }
      const { failed } = await world.backfill({ range, sources: ['brightwater', '..', good] })
      expect(failed.map(({ source }) => source)).toEqual(['group brightwater', 'group ..'])
      expect(await world.exported()).toEqual([id])
      await expect(world.backfill({ range, sources: ['brightwater'] })).rejects.toThrow()
    },
  )
})

describe('an endless list of audit events', () => {
  it('keeps an endless list of audit events from delaying other sources, continues it in the next round, and ends a backfill with a message', async () => {
    await using world = await openAuditWorld(await sqliteBench())
    const id = world.happen(world.bench.now() - minute)
    const pages: number[] = []
    world.api.misbehave = asked => {
      if (asked.path !== '/groups/brightwater/data/audit_events') return undefined
      pages.push(Number(asked.query.get('page') ?? 1))
      const next = `<${world.api.url}/api/v4${asked.path}?page=${Number(asked.query.get('page') ?? 1) + 1}>; rel="next"`
      return { status: 200, headers: { 'content-type': 'application/json', link: next }, body: '[]' }
    }
    const poller = world.poller({ sources: ['brightwater/data', 'instance'] })
    await poller.round()
    expect(pages).toHaveLength(500)
    expect(await world.exported()).toEqual([id])
    await poller.round()
    expect(pages.at(-1)).toBe(1_000)
    const range = { since: world.bench.now() - 2 * day, until: world.bench.now() - day }
    const { failed } = await world.backfill({ sources: ['brightwater/data'], range, maxPages: 1_000 })
    expect(pages).toHaveLength(2_000)
    expect(failed).toEqual([
      { source: 'group brightwater/data', reason: expect.stringContaining('more than 1000 pages') as string },
    ])
  })
})
