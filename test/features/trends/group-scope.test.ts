// Tests a project group as a filter for the pages and the JSON API: what it filters, how links preserve it, and which of its projects are hidden.
// Also tests costs by an attribute that the operator configured.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { costPage } from '../../../src/features/trends/cost/cost.ts'
import { openHouse, type House } from '../../console/house.ts'
import type { Trends } from '../../../src/features/trends/pages/figures.ts'
import type { Costs, RetainedCosts } from '../../../src/features/trends/cost/shape.ts'

const rules = `
costs: { rules: [{ name: all, per_minute: 2 }] }
attributes:
  rules:
    - { projects: { include: ['brightwater/shop/*'] }, set: { team: shop & co } }
    - { projects: { include: ['brightwater/data/*'] }, set: { team: data } }
    - { jobs: { include: ['*'] }, set: { team: nobody } }
`

let house: House
beforeAll(async () => {
  house = await openHouse({ PIPESPAN_PAGES_GROUP_BY: 'team', PIPESPAN_PAGES_HIDE: 'brightwater/mobile/**' }, rules)
  await house.live(['mergeRequest', 'nightly', 'family', 'flakyRunner'])
})
afterAll(async () => house.close())

const text = async (path: string): Promise<string> => (await fetch(house.url + path)).text()
const json = async <T>(path: string): Promise<T> => JSON.parse(await text(`/api${path}`)) as T
const group = 'brightwater/shop/'
const pages = ['/pipelines', '/environments', '/tests', '/changes', '/components', '/timeline']

describe('the filter by project group', () => {
  it("shows only the pipelines of a group's projects", async () => {
    const { pipelines } = await json<{ pipelines: { project: string; pipelineId: number }[] }>(
      `/pipelines?project=${group}`,
    )
    const all = await json<{ pipelines: { project: string; pipelineId: number }[] }>('/pipelines')
    const own = all.pipelines.filter(({ project }) => project.startsWith(group))
    expect(own.length).toBeGreaterThan(1)
    expect(own.length).toBeLessThan(all.pipelines.length)
    expect(pipelines.map(one => one.pipelineId)).toEqual(own.map(one => one.pipelineId))
  })

  it("shows only the environments of a group's projects", async () => {
    const of = async (project: string): Promise<string[]> =>
      (await json<{ environments: { project: string }[] }>(`/environments?project=${project}`)).environments.map(
        one => one.project,
      )
    expect(new Set(await of(group))).toEqual(new Set(['brightwater/shop/storefront', 'brightwater/shop/checkout-api']))
    expect(await of('brightwater/sho/')).toEqual([])
  })

  it("adds up the same costs for a group's projects with the group filter as without it", async () => {
    const all = await json<Costs>('/cost')
    const own = await json<Costs>(`/cost?group=${group}&exact=true`)
    const visible = all.projects.filter(({ project }) => project.startsWith(group))
    expect(own.total?.totalMs).toBe(visible.reduce((sum, { totalMs }) => sum + totalMs, 0))
    expect(own.projects).toEqual(visible)
    expect(own.days.reduce((sum, { totalMs }) => sum + totalMs, 0)).toBe(own.total?.totalMs)
    expect(own.retained?.total.totalMs).toBe(own.total?.totalMs)
  })

  it("adds up the trends of a group's pipelines, with their percentiles", async () => {
    const all = await json<Trends>('/trends')
    const own = await json<Trends>(`/trends?group=${group}`)
    const visible = all.projects.filter(({ project }) => project.startsWith(group))
    expect(own.total.runs).toBe(visible.reduce((sum, { runs }) => sum + runs, 0))
    expect(own.points.reduce((sum, { runs }) => sum + runs, 0)).toBe(own.total.runs)
    expect(own.total.p50).toBeGreaterThan(0)
    expect(own.projects).toEqual(visible)
    expect(own.jobs.every(({ project }) => project.startsWith(group))).toBe(true)
    const stored = await json<Trends>(`/trends?group=${group}&ref=main`)
    expect(stored.projects.every(({ project }) => project.startsWith(group))).toBe(true)
    expect(stored.total.runs).toBeGreaterThan(0)
    expect(await text(`/trends?project=${group}`)).toContain('<h1>brightwater/shop/</h1>')
    expect(await text(`/trends/regressions?project=${group}`)).toContain('Regressions of brightwater/shop/')
  })

  it('shows a row with a link for each subgroup on the trends page', async () => {
    const { subgroups } = await json<Trends>('/trends?group=brightwater/')
    const { projects } = await json<Trends>('/trends')
    const runs = projects.filter(({ project }) => project.startsWith(group)).reduce((sum, one) => sum + one.runs, 0)
    expect(subgroups.map(({ name }) => name).sort()).toEqual(['brightwater/data/', 'brightwater/platform/', group])
    expect(subgroups.find(({ name }) => name === group)?.runs).toBe(runs)
    expect(await text('/trends?project=brightwater/')).toMatch(/href="\/trends\?[^"]*project=brightwater%2Fshop%2F&/)
  })

  it('shows a row with a link for each subgroup on the costs page', async () => {
    const { subgroups } = await json<Costs>('/cost?group=brightwater/')
    expect(subgroups.map(({ name }) => name).sort()).toEqual(['brightwater/data/', 'brightwater/platform/', group])
    expect(await text('/cost?project=brightwater/')).toContain('project=brightwater%2Fshop%2F"')
    expect(await text(`/cost?project=${group}`)).toContain('<h1>Cost of brightwater/shop/</h1>')
  })

  it('preserves the group filter in the links between pages', async () => {
    for (const page of [...pages, '/cost']) {
      const shown = await text(`${page}?project=${group}`)
      for (const other of [...pages, '/cost']) expect(shown).toContain(`href="${other}?project=brightwater%2Fshop%2F"`)
      expect(shown).toContain('href="/sources"')
    }
    expect(await text('/pipelines?project=brightwater/shop/storefront')).toContain('href="/environments"')
  })

  it('offers the group in the filter form of every page', async () => {
    for (const page of pages) expect(await text(page)).toContain(`<option value="${group}">`)
  })

  it('shows the same message for an unknown group as for an unknown project', async () => {
    for (const page of pages)
      for (const unknown of ['brightwater/none/', 'brightwater/none'])
        expect(await text(`${page}?project=${unknown}`), page).toContain(`No project “${unknown}” is known.`)
    for (const page of pages) expect(await text(`${page}?project=${group}`)).not.toContain('is known.')
  })

  it('shows neither sums nor names for a group with only hidden projects', async () => {
    const hidden = 'brightwater/mobile/'
    const costs = await json<Costs>(`/cost?group=${hidden}&exact=true`)
    expect([costs.total, costs.days, costs.jobs, costs.workers]).toEqual([undefined, [], [], []])
    expect(costs.retained?.pipelines).toBe(0)
    const trends = await json<Trends>(`/trends?group=${hidden}`)
    expect([trends.points, trends.projects, trends.jobs, trends.subgroups]).toEqual([[], [], [], []])
    expect(await json(`/pipelines?project=${hidden}`)).toMatchObject({ pipelines: [], total: 0 })
    expect(await text('/pipelines')).not.toContain(`value="${hidden}"`)
  })

  it('rejects a group without a trailing slash in the costs API', async () => {
    expect((await fetch(`${house.url}/api/cost?group=brightwater/shop`)).status).toBe(400)
  })
})

const costsOf = async (query = ''): Promise<Costs> => json<Costs>(`/cost${query}`)

it('shows next to costs by branch and runner which share of the job time was counted, and whether any pipeline is still stored', async () => {
  const all = await costsOf('?exact=true')
  const found = all.retained
  if (found === undefined) throw new Error('nothing was counted')
  const { total } = found
  const shown = (retained: Partial<RetainedCosts>): string => {
    const reader = { base: '', address: '/cost', query: new URLSearchParams(), now: Date.now() }
    const context = { ...reader, may: 'all', session: false } as const
    return costPage({ ...all, retained: { ...found, ...retained } }, context).content.toString()
  }
  expect(shown({ backTo: Date.now(), total: { ...total, totalMs: total.totalMs / 4 } })).toMatch(
    /with 25 % of the job time of this period\. Only the newest pipelines were counted, back to 20[-\d]+ [\d:]+ UTC\./,
  )
  expect(shown({ pipelines: 0 })).toContain('No pipeline from this period is still stored.')
})

it('compares figures with those of the previous period only if all of that period is stored', async () => {
  expect((await json<Trends>('/trends?span=7d')).before).toBeUndefined()
  expect(await text('/trends?span=7d')).toContain('because not all of that period is stored')
})

it('counts costs by branch and runner only on request, because that reads thousands of pipelines', async () => {
  expect((await costsOf()).retained).toBeUndefined()
  const [, href] = /href="([^"]*exact=true[^"]*)"/.exec(await text('/cost')) ?? []
  expect(await text(href?.replaceAll('&amp;', '&') ?? '')).toContain('Computed from')
})

describe('costs by a configured attribute', () => {
  it('sums project costs by the value of a configured attribute, with an unnamed row for projects without one', async () => {
    const { groups, projects, total } = await costsOf()
    const cost = (of: (project: string) => boolean): number =>
      projects.filter(({ project }) => of(project)).reduce((sum, line) => sum + line.cost, 0)
    const isOf = (group: string) => (project: string) => project.startsWith(`brightwater/${group}/`)
    const sums = new Map(groups?.lines.map(line => [line.name, line.cost]))
    expect(groups?.by).toBe('team')
    expect([...sums.keys()].sort()).toEqual(['', 'data', 'shop & co'])
    expect(sums.get('shop & co')).toBeCloseTo(cost(isOf('shop')))
    expect(sums.get('data')).toBeCloseTo(cost(isOf('data')))
    expect([...sums.values()].reduce((sum, one) => sum + one, 0)).toBeCloseTo(total?.cost ?? 0)
  })

  it('shows the costs by attribute on the page of all projects, but not on the page of one project', async () => {
    const page = await text('/cost')
    expect(page).toContain('aria-label="By team"')
    expect(page).toContain('shop &amp; co')
    const [one] = (await costsOf()).projects
    expect((await costsOf(`?project=${one?.projectId}`)).groups).toBeUndefined()
    expect(await text(`/cost?project=${one?.projectId}`)).not.toContain('By team')
  })
})

it('adds up pipelines by a configured attribute in trends too', async () => {
  const { groups, total } = await json<Trends>('/trends')
  expect(groups?.by).toBe('team')
  expect(groups?.lines.map(({ name }) => name).sort()).toEqual(['', 'data', 'shop & co'])
  expect(groups?.lines.reduce((sum, { runs }) => sum + runs, 0)).toBe(total.runs)
  expect(await text('/trends')).toContain('aria-label="By team"')
})

it('exports spans with the configured attributes, and job spans also with those set by rules for jobs', () => {
  const teams = (isJob: boolean): Set<unknown> =>
    new Set(
      house.receiver.spans
        .filter(({ name, resource }) => name.startsWith('job: ') === isJob && resource.attributes.team === 'data')
        .map(({ attributes }) => attributes.team),
    )
  expect([teams(false), teams(true)]).toEqual([new Set(['data']), new Set(['nobody'])])
})
