// Tests filtering by the operator's own attribute, on the pages and in the JSON API: what the filter shows, how links preserve it, and what it hides.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openHouse, type House } from './house.ts'

const rules = `
attributes:
  rules:
    - { projects: { include: ['brightwater/shop/*', 'brightwater/mobile/*'] }, set: { team: shop & co } }
    - { projects: { include: ['brightwater/data/*'] }, set: { team: data } }
    - { projects: { include: ['brightwater/platform/*'] }, branches: [default], set: { team: platform } }
`
let house: House
beforeAll(async () => {
  const env = { PIPESPAN_PAGES_HIDE: 'brightwater/mobile/**' }
  house = await openHouse({ ...env, PIPESPAN_PAGES_GROUP_BY: 'team' }, rules)
  await house.live(['mergeRequest', 'nightly', 'family', 'flakyRunner'])
})
afterAll(async () => house.close())

const text = async (address: string): Promise<string> => (await fetch(house.url + address)).text()
const json = async <T>(address: string): Promise<T> => JSON.parse(await text(`/api${address}`), timeless) as T
/** Removes the time at which the response was created. */
const timeless = (name: string, value: unknown): unknown => (name === 'platformNow' ? 0 : value)
const team = 'own=shop+%26+co'
const shop = 'brightwater/shop/'
const pages = ['/pipelines', '/environments', '/trends', '/cost', '/tests', '/changes', '/timeline'] as const
const reason = 'No known project has the team “none”. Choose one of: data, shop & co.'
const routes = [...pages, '/tests/costly', '/trends/regressions'] as const

describe('the filter by an attribute that the operator configured', () => {
  it('shows the pipelines of all projects that have the attribute value, or of a single one of these projects', async () => {
    const own = await json<{ pipelines: unknown[] }>(`/pipelines?${team}`)
    expect(own.pipelines.length).toBeGreaterThan(1)
    expect(own).toEqual(await json(`/pipelines?project=${shop}`))
    const one = 'brightwater/shop/storefront'
    expect(await json(`/pipelines?${team}&project=${one}`)).toEqual(await json(`/pipelines?project=${one}`))
    expect(await json(`/pipelines?${team}&project=brightwater/data/`)).toMatchObject({ pipelines: [], total: 0 })
  })

  it.each([
    ...['/cost', '/trends', '/trends?ref=main', '/trends?source=push'].map(path => [path, 'group'] as const),
    ...['/environments', '/tests', '/tests/costly', '/changes', '/timeline'].map(path => [path, 'project'] as const),
  ])('returns the same response from %s as if the same projects were selected by their %s', async (path, scope) => {
    const at = async (filter: string): Promise<Record<string, unknown>> =>
      json(`${path}${path.includes('?') ? '&' : '?'}${filter}`)
    const [answer, grouped] = [await at(team), await at(`${scope}=${shop}`)]
    expect(answer.own).toBe('shop & co')
    // Fields that only the response for a project group has, or that depend on the time of the response.
    const others = ['own', 'group', 'since', 'until', 'overTime', 'subgroups', 'groups', 'span', 'previous']
    const same = Object.keys(answer).filter(name => !others.includes(name))
    expect(same.map(name => [name, answer[name]])).toEqual(same.map(name => [name, grouped[name]]))
  })

  it('keeps the filter in the links and forms of every page', async () => {
    for (const page of pages) {
      const shown = await text(`${page}?${team}`)
      for (const other of pages) expect(shown, page).toContain(`href="${other}?${team}"`)
      expect(shown).toContain('href="/sources"')
      const ofWeek = [...shown.matchAll(new RegExp(`href="(${page}\?span=7d[^"]*)"`, 'g'))].map(([, link]) => link)
      for (const link of ofWeek) expect(link, page).toContain(team)
      if (page !== '/cost') expect(shown, page).toMatch(/<option value="shop &amp; co" +selected/)
    }
    expect(await text(`/trends?${team}`)).toContain('<h1>team shop &amp; co</h1>')
    expect(await text(`/cost?${team}`)).toContain('<h1>Cost of team shop &amp; co</h1>')
  })

  it('ignores rules for branches, because the filter is about whole projects', async () => {
    expect(await text('/pipelines')).not.toContain('<option value="platform"')
  })

  it("reports that no project has the filter's value, and lists the possible values", async () => {
    for (const page of pages) expect(await text(`${page}?own=none`), page).toContain(reason.replace('&', '&amp;'))
    for (const route of routes) {
      const answer = await fetch(`${house.url}/api${route}?own=none`)
      expect([answer.status, await answer.json()], route).toEqual([404, { message: reason }])
    }
    expect(await text('/pipelines?own=')).not.toContain('No known project')
  })

  it('does not show a hidden project, even if it matches the filter', async () => {
    for (const route of routes) expect(await text(`/api${route}?${team}`), route).not.toContain('brightwater/mobile')
    for (const page of pages) expect(await text(`${page}?${team}`), page).not.toContain('brightwater/mobile')
  })
})

it('ignores the filter if no attribute is configured, and names the setting', async () => {
  const other = await openHouse()
  try {
    expect(await (await fetch(`${other.url}/pipelines?own=data`)).text()).toContain('Set PIPESPAN_PAGES_GROUP_BY')
    expect((await fetch(`${other.url}/api/pipelines?own=data`)).status).toBe(404)
    expect(await (await fetch(`${other.url}/pipelines`)).text()).not.toContain('name="own"')
  } finally {
    await other.close()
  }
})
