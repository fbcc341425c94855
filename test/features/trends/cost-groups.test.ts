// Costs by one of the operator's attributes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { costPage } from '../../../src/features/trends/cost/cost.ts'
import { openHouse, type House } from '../../console/house.ts'
import type { Costs } from '../../../src/features/trends/cost/shape.ts'
import type { Trends } from '../../../src/features/trends/pages/figures.ts'

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
  house = await openHouse({ PIPESPAN_PAGES_GROUP_BY: 'team' }, rules)
  await house.live(['mergeRequest', 'nightly', 'family', 'flakyRunner'])
})
afterAll(async () => house.close())

const read = async (address: string): Promise<string> => (await fetch(house.url + address)).text()
const costs = async (query = ''): Promise<Costs> => JSON.parse(await read(`/api/cost${query}`)) as Costs

it('say how much of the stored pipelines was counted for branches and runners, and if none is stored', async () => {
  const all = await costs()
  const { total } = all.retained
  const shown = (retained: Partial<Costs['retained']>): string => {
    const reader = { base: '', address: '/cost', query: new URLSearchParams(), now: Date.now() }
    const context = { ...reader, may: 'all', session: false } as const
    return costPage({ ...all, retained: { ...all.retained, ...retained } }, context).content.toString()
  }
  expect(shown({ backTo: Date.now(), total: { ...total, totalMs: total.totalMs / 4 } })).toMatch(
    /with 25 % of the job time of this period\. There are more: only the newest were counted, back to 20[-\d]+ [\d:]+ UTC\./,
  )
  expect(shown({ pipelines: 0 })).toContain('No pipeline of this period is stored any more.')
})

describe('costs by an attribute', () => {
  it('add up the projects that have its value, and the rest without a name', async () => {
    const { groups, projects, total } = await costs()
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

  it('are a table of the page of all projects, not of one', async () => {
    const page = await read('/cost')
    expect(page).toContain('aria-label="By team"')
    expect(page).toContain('shop &amp; co')
    const [one] = (await costs()).projects
    expect((await costs(`?project=${one?.projectId}`)).groups).toBeUndefined()
    expect(await read(`/cost?project=${one?.projectId}`)).not.toContain('By team')
  })
})

it('add up the pipelines of the trends, too', async () => {
  const { groups, total } = JSON.parse(await read('/api/trends')) as Trends
  expect(groups?.by).toBe('team')
  expect(groups?.lines.map(({ name }) => name).sort()).toEqual(['', 'data', 'shop & co'])
  expect(groups?.lines.reduce((sum, { runs }) => sum + runs, 0)).toBe(total.runs)
  expect(await read('/trends')).toContain('aria-label="By team"')
})

it('are on the exported spans, those of jobs with what a rule for jobs sets', () => {
  const teams = (isJob: boolean): Set<unknown> =>
    new Set(
      house.receiver.spans
        .filter(({ name, resource }) => name.startsWith('job: ') === isJob && resource.attributes.team === 'data')
        .map(({ attributes }) => attributes.team),
    )
  expect([teams(false), teams(true)]).toEqual([new Set(['data']), new Set(['nobody'])])
})
