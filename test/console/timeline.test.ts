// Tests the timeline and its JSON: changes are in order, can be filtered by kind and project, and reveal nothing hidden.
import { z } from 'zod'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, expectReadableAt, launch, openContext, showAs, defaultLooks } from './browser.ts'
import { isFull } from '../full.ts'
import { openHouse, until, type House } from './house.ts'
import { payload } from '../e2e/mixed-events.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import { timelineShape as shape } from '../../src/console/timeline/timeline-figures.ts'
import type { Timeline } from '../../src/console/timeline/timeline-figures.ts'

const token = 'an-admin-token-of-32-characters-x'
const bearer = { headers: { authorization: `Bearer ${token}` } }
const minute = 60_000
const began = Date.now() - 3 * 3_600_000
const iso = (minutes: number): string => new Date(began + minutes * minute).toISOString()
const own = 'object_attributes'

let api: RestApi
let house: House

beforeAll(async () => {
  const state = new PlatformState()
  api = await RestApi.start({ state, now: () => Date.now() })
  state.audit.happen(new Random(9), Date.now() - minute)
  house = await openHouse({
    PIPESPAN_ADMIN_TOKEN: token,
    PIPESPAN_PLATFORM_URL: api.url,
    PIPESPAN_PLATFORM_TOKEN: 'pat-1',
    PIPESPAN_AUDIT: 'instance',
    PIPESPAN_EVENTS: 'all',
    PIPESPAN_ENRICH_DEADLINE: '1s',
    PIPESPAN_PAGES_HIDE: 'brightwater/secret/**',
    SERVICE_OBSERVABILITY_EXPORT: 'traces,logs',
  })
  await house.live(['small', 'release'], { families: 2, start: began, pause: minute })
  const { project } = JSON.parse(payload('release', {}).body) as { project: object }
  const secret = { ...project, id: 9, name: 'vault', path_with_namespace: 'brightwater/secret/vault' }
  const change = { 'user.username': 'ada', [`${own}.id`]: 5, [`${own}.title`]: 'Brew <b>faster</b>' }
  const incident = { [`${own}.id`]: 8, [`${own}.iid`]: 8, [`${own}.type`]: 'Incident' }
  const events = [
    payload('change', { ...change, [`${own}.action`]: 'open', [`${own}.updated_at`]: iso(1) }),
    payload('change', { ...change, [`${own}.action`]: 'merge', [`${own}.updated_at`]: iso(2) }),
    payload('release', {}),
    payload('release', { tag: 'secret', project: secret }),
    payload('feature_flag', {}),
    payload('issue', { ...incident, [`${own}.action`]: 'open', [`${own}.updated_at`]: iso(4) }),
    payload('issue', { ...incident, [`${own}.action`]: 'update', [`${own}.updated_at`]: iso(5) }),
    payload('issue', { ...incident, [`${own}.action`]: 'close', [`${own}.updated_at`]: iso(6) }),
    payload('issue', { [`${own}.id`]: 9, [`${own}.type`]: 'Task', [`${own}.updated_at`]: iso(7) }),
  ]
  for (const { event, body } of events) await house.post(body, event)
  await until(async () => (await json('kind=audit')).items.length > 0)
})
afterAll(async () => {
  await house.close()
  await api.close()
})

async function json(query: string): Promise<Timeline> {
  return (await (await fetch(`${house.url}/api/timeline?${query}`, bearer)).json()) as Timeline
}

describe('the timeline', () => {
  it('lists changes, newest first, without events that changed nothing', async () => {
    const answer = await json('span=24h&limit=200')
    z.strictObject(shape.shape).parse(answer)
    const dated = answer.items.filter(({ kind, at }) => kind !== 'audit' && at < began + 10 * minute)
    expect(dated.map(({ title, isBad }) => [title, isBad])).toEqual([
      ['Incident #8 closed', false],
      ['Incident #8 opened', true],
      ['Merge request !12 merged: Brew <b>faster</b>', false],
    ])
    expect(answer.items.map(({ at }) => at)).toEqual(answer.items.map(({ at }) => at).toSorted((a, b) => b - a))
    const ofEvents = answer.kinds.filter(kind => kind !== 'deployment')
    expect(new Set(answer.items.map(({ kind }) => kind))).toEqual(new Set(ofEvents))
    expect(answer.pipelines.length).toBeGreaterThan(1)
    expect(answer.isCut).toBe(false)
  })

  it('filters the timeline by kind and project, and reports if older changes are omitted', async () => {
    expect((await json('kind=flag&kind=release')).items.map(({ kind }) => kind).toSorted()).toEqual(['flag', 'release'])
    const one = await json('kind=incident&limit=1')
    expect(one).toMatchObject({ kinds: ['incident'], isCut: true, items: [{ title: 'Incident #8 closed' }] })
    expect(await json('project=team/shop&kind=merge&pipelines=0')).toMatchObject({
      items: [{ user: 'ada' }],
      pipelines: [],
    })
    expect((await json('kind=incident&sort=what')).items.map(({ title }) => title)).toEqual([
      'Incident #8 closed',
      'Incident #8 opened',
    ])
    expect((await json('kind=incident&sort=-what')).items.map(({ title }) => title)).toEqual([
      'Incident #8 opened',
      'Incident #8 closed',
    ])
    expect((await json('project=nowhere')).items).toEqual([])
    expect((await fetch(`${house.url}/api/timeline?kind=nothing`, bearer)).status).toBe(400)
  })

  it('shows no hidden project, and audit events only if an admin token is set', async () => {
    expect(JSON.stringify(await json('limit=200'))).not.toContain('secret')
    expect(await json('project=brightwater/secret/vault')).toMatchObject({ items: [], pipelines: [] })
    const open = await openHouse()
    const answer = (await (await fetch(`${open.url}/api/timeline?kind=audit`)).json()) as Timeline
    expect(answer).toMatchObject({ kinds: [], items: [] })
    expect(await (await fetch(`${open.url}/timeline`)).text()).not.toContain('Audit events')
    await open.close()
  })

  it('links to the timeline from other pages, and states how long changes are kept', async () => {
    const page = await (await fetch(`${house.url}/timeline?kind=flag`, bearer)).text()
    expect(page).toContain('PIPESPAN_RETENTION')
    expect(page).toMatch(/value="flag"\s+checked/)
    expect(page).not.toContain('Brew')
    const overview = await (await fetch(`${house.url}/`, bearer)).text()
    expect(overview).toContain('What changed')
    expect(overview).toContain('Brew &lt;b&gt;faster')
    const trends = await (await fetch(`${house.url}/trends?project=71`, bearer)).text()
    expect(trends).toContain('What changed')
  })

  it.skipIf(chromiumPath === undefined)('shows an accessible timeline, light and dark, wide and narrow', async () => {
    const browser = await launch()
    const page = await (await openContext(browser, { extraHTTPHeaders: bearer.headers })).newPage()
    const looks = [
      ...defaultLooks.slice(0, 1),
      { colorScheme: 'dark', width: 1_024 },
      ...defaultLooks.slice(1),
    ] as const
    for (const address of ['/timeline?span=24h', '/'])
      await expectReadableAt(page, house.url + address, page.locator('.timeline'), looks)
    for (const look of isFull ? looks : looks.slice(-1)) {
      await showAs(page, look)
      await page.goto(`${house.url}/timeline?span=24h`)
      await page.getByRole('checkbox', { name: 'Flags' }).focus()
      await page.keyboard.press('Space')
      await page.keyboard.press('Enter')
      await page.waitForURL(/kind=flag/)
      await expect.poll(async () => page.locator('table.of-timeline tbody tr').count()).toBe(1)
    }
    await browser.close()
  })
})
