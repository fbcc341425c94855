// Tests audit events on both databases. Each event is exported exactly once, even if pages overlap, events appear late in the list, or processes
// crash at any moment.
import { describe, expect, it } from 'vitest'
import { day, hour, minute, second, t0 } from '../../flow/world.ts'
import { keyMemory } from '../../../src/core/store/sql/take-in.ts'
import { auditBackfills, auditCursors } from '../../../src/features/audit/documents.ts'
import { openAuditWorld } from './audit-world.ts'
import { bothDatabases, sqliteBench } from '../../core/store/benches.ts'
import { restFaults, restJson } from '../../support/rest-faults.ts'

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

describe('audit event fields', () => {
  it.each(['id', 'author_id', 'entity_id', 'entity_type', 'details', 'created_at'])(
    'exports an audit event that lacks the field %s, or logs the name of the field',
    async field => {
      await using world = await openAuditWorld(await sqliteBench())
      world.happen(t0 - minute)
      world.api.misbehave = (_, real) => {
        const events = JSON.parse(String(real().body)) as object[]
        return restJson(events.map(one => Object.fromEntries(Object.entries(one).filter(([name]) => name !== field))))
      }
      await world.poller().round()
      const isExported = (await world.chunks()).length === 1
      expect(isExported).toBe(field !== 'id' && field !== 'created_at')
      if (!isExported) expect(JSON.stringify(world.logged)).toContain(`no usable ${field}`)
    },
  )

  it('exports an audit event as a log record of its project with the documented names, and without email address, IP address or secret', async () => {
    await using world = await openAuditWorld(await sqliteBench())
    const target = { target_type: 'Project', target_id: 301, target_details: 'Storefront of amina@brightwater.example' }
    world.happen(t0 - minute, { details: { change: 'token', from: 'glpat-abcdefghij0123456789', to: true, ...target } })
    world.happen(t0 - 2 * minute, {
      entity: { type: 'Group', id: 7, path: 'brightwater' },
      details: { custom_message: 'Invited jonas@brightwater.example\nas owner' },
      eventType: 'member_invited',
    })
    world.happen(t0 - 3 * minute, {
      entity: { type: 'User', id: 12, path: 'jonas' },
      details: { add: 'key', author_class: 'DeployToken', target_id: 'glpat-abcdefghij0123456789', from: null },
    })
    await world.poller().round()
    const [project, group, user] = (await world.chunks()).sort((a, b) => b.at - a.at)
    expect(project).toMatchObject({ at: t0 - minute, project: { id: 301, path: 'brightwater/shop/storefront' } })
    expect(project?.event).toEqual({
      kind: 'audit',
      name: 'platform.audit',
      severity: 'info',
      body: 'Changed token from [REDACTED] to true',
      attributes: {
        'platform.audit.id': '70001',
        'platform.audit.type': 'project.change',
        'platform.audit.entity.type': 'Project',
        'platform.audit.entity.id': '301',
        'platform.audit.entity.path': 'brightwater/shop/storefront',
        'platform.audit.target.type': 'Project',
        'platform.audit.target.id': '301',
        'platform.audit.target.details': 'Storefront of [REDACTED]',
        'platform.audit.change': 'token',
        'platform.audit.from': '[REDACTED]',
        'platform.audit.to': 'true',
        'platform.audit.author.class': 'User',
        'user.id': '11',
        'user.name': 'Amina Okafor',
      },
    })
    expect(group).toMatchObject({ group: 'brightwater', event: { body: 'Invited [REDACTED] as owner' } })
    expect(group?.event.attributes).toMatchObject({
      'platform.audit.type': 'member_invited',
      'platform.audit.entity.id': '7',
    })
    expect(user?.event.attributes).toMatchObject({
      'platform.audit.entity.type': 'User',
      'platform.audit.entity.id': '12',
      'platform.audit.target.id': '[REDACTED]',
      'platform.audit.author.class': 'DeployToken',
    })
    expect(user?.event.attributes).not.toHaveProperty('platform.audit.from')
  })
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
