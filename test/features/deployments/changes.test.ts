// Tests what the pages and the API show about changes (merge requests).
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { changes as storedChanges, changeReporter } from '../../../src/features/deployments/sql/changes.ts'
import { report } from './reported.ts'
import { observedChange, type Change } from '../../../src/features/deployments/model/change.ts'
import { openHouse, until, type House } from '../../console/house.ts'

const hour = 3_600_000
const created = Date.now() - 48 * hour
const instance = 'https://git.example.com'
const shop = { id: 3, name: 'shop', path: 'acme/shop' }
const vault = { id: 301, name: 'keys', path: 'acme/vault/keys' }

let house: House
beforeAll(async () => {
  house = await openHouse({ PIPESPAN_PAGES_HIDE: 'acme/vault/**' })
  const changes = house.daemon.store.on(storedChanges)
  const of = (iid: number, more: Partial<Change> = {}, project = shop): Change => {
    const state = more.mergedAt === undefined ? 'open' : 'merged'
    const facts = { state, title: `Brew ${iid}`, head: `kettle-${iid}`, base: 'main' } as const
    return {
      ...{ instance, project, iid, event: observedChange(facts, created + iid), createdAt: created, isWhole: true },
      ...{ stateAt: created, ...more },
    }
  }
  const made = [
    of(1, { mergedAt: created + 3 * hour, approvedAt: created + 2 * hour, trainAt: created + 2.5 * hour }),
    of(2, { mergedAt: created + 5 * hour, pipeline: { id: 77, projectId: 3, createdAt: created + 60_000 } }),
    of(3),
    of(4, { mergedAt: created + hour }, vault),
  ]
  await report(house.daemon.store, changeReporter, made)
  const isCounted = async (): Promise<boolean> =>
    (await changes.list({ since: 0, until: Date.now(), limit: 9 })).filter(one => one.counted.merge).length === 3
  await until(isCounted)
})
afterAll(async () => house.close())

describe('changes (merge requests) on the pages and in the API', () => {
  it('shows changes with their times, a link to the platform, and their pipelines', async () => {
    const page = await (await fetch(`${house.url}/changes`)).text()
    expect(page).toMatch(/href="https:\/\/git.example.com\/acme\/shop\/-\/merge_requests\/2"/)
    expect(page).toMatch(/href="\/pipelines\/3\/77"/)
    expect(page).toMatch(/href="\/pipelines\?project=acme%2Fshop&amp;ref=kettle-2"/)
    expect(page).toMatch(
      /<details>\s*<summary class="dim">How is this counted\?<\/summary>[^]*Times are medians, measured from the\s+creation/,
    )
    expect(page).not.toMatch(/vault|Brew 4/)
  })

  it('returns the times of changes from the API, for one project or all, by day, without hidden projects', async () => {
    const ask = async (query = ''): Promise<unknown> => (await fetch(`${house.url}/api/changes${query}`)).json()
    const times = {
      open: 1,
      merged: 2,
      timeToMerge: 4 * hour,
      timeToApproval: 2 * hour,
      timeToFirstPipeline: 60_000,
      timeInMergeTrain: hour / 2,
    }
    const all = (await ask('?span=7d')) as { changes: { iid: number }[]; days: { merged: number }[] }
    expect(all).toMatchObject({ total: times, projects: [{ project: 'acme/shop', projectId: 3, ...times }] })
    expect(all.changes.map(({ iid }) => iid)).toEqual([2, 1, 3])
    expect(all.days.reduce((sum, { merged }) => sum + merged, 0)).toBe(2)
    expect(all.changes[0]).toMatchObject({ state: 'merged', pipeline: { id: 77 }, mergedAt: created + 5 * hour })
    const sorted = async (sort: string): Promise<number[]> =>
      ((await ask(`?span=7d&sort=${sort}`)) as typeof all).changes.map(({ iid }) => iid)
    expect([await sorted('took'), await sorted('-took'), await sorted('-change')]).toEqual([
      [1, 2, 3],
      [2, 1, 3],
      [3, 2, 1],
    ])
    expect((await fetch(`${house.url}/api/changes?sort=nothing`)).status).toBe(400)
    expect(await ask('?project=acme/vault/keys')).toMatchObject({ projects: [], changes: [], total: { open: 0 } })
    expect(await ask('?span=24h')).toMatchObject({ total: { open: 1, merged: 0 }, changes: [] })
    expect((await fetch(`${house.url}/api/changes?span=never`)).status).toBe(400)
  })

  it('shows the time that changes spent in the merge train, on the page only if a merge train was used', async () => {
    const [page, none] = await Promise.all(
      ['?span=7d', '?span=24h'].map(async query => (await fetch(`${house.url}/changes${query}`)).text()),
    )
    expect(page).toMatch(/In merge train<[^]*30 m/)
    expect(none).not.toContain('In merge train')
    const sorted = await (await fetch(`${house.url}/api/changes?span=7d&sort=-train`)).json()
    expect((sorted as { changes: { iid: number }[] }).changes[0]?.iid).toBe(1)
  })

  it('shows that no changes are known if no event was received', async () => {
    expect(await (await fetch(`${house.url}/changes?project=acme/none`)).text()).toContain('No changes are known')
  })
})
