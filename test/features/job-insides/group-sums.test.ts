// Tests the totals of flaky tests by project group and by an attribute that the operator configures, on the pages and in the JSON API.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testMemory } from '../../../src/features/job-insides/test-memory.ts'
import { groupsOf } from '../../../src/console/layout/groups.ts'
import { openHouse, pipelineWebhook, until, type House } from '../../console/house.ts'
import type { ProjectFacts } from '../../../src/model/observation.ts'

const rules = `
attributes:
  rules:
    - { projects: { include: ['acme/shop/*', 'acme/vault/*'] }, set: { team: payments } }
    - { projects: { include: ['acme/data/*'] }, set: { team: data } }
`
const instance = 'https://git.example.com'
const [web, api, etl, tool, vault] = ['shop/web', 'shop/api', 'data/etl', 'tool', 'vault/keys'].map((name, at) => ({
  ...{ id: at + 1, name, path: `acme/${name}` },
})) as [Project, Project, Project, Project, Project]
type Project = ProjectFacts

let house: House
beforeAll(async () => {
  house = await openHouse({ PIPESPAN_PAGES_GROUP_BY: 'team', PIPESPAN_PAGES_HIDE: 'acme/vault/**' }, rules)
  for (const { id, path = '' } of [web, api, etl, tool, vault])
    await house.post(pipelineWebhook({ id, project: { id, path } }))
  await until(async () => (await house.daemon.store.views.projects(9)).length === 5)
  for (const [project, minutes] of [
    [web, 3],
    [api, 4],
    [etl, 10],
    [tool, 1],
    [vault, 99],
  ] as const)
    await makeFlaky(project, minutes)
})
afterAll(async () => house.close())

/** Stores two flaky tests that failed in the same job. */
async function makeFlaky({ id, path: project = '' }: Project, minutes: number): Promise<void> {
  for (const hasFailed of [true, false])
    await house.daemon.store.on(testMemory).record({
      ...{ instance, projectId: id, project, job: 'unit', jobId: id * 2 + Number(hasFailed), pipelineId: id },
      ...{ revision: 'abc', flaky: new Map(), endedAt: Date.now(), lostMs: minutes * 60_000, slowest: [] },
      failed: new Map(hasFailed ? [7, 8].map(hash => [hash, { suite: '', name: `adds up ${hash}` }]) : []),
      passed: new Set(hasFailed ? [] : [7, 8]),
    })
}

const text = async (address: string): Promise<string> => (await fetch(house.url + address)).text()
const json = async <T>(address: string): Promise<T> => JSON.parse(await text(`/api${address}`)) as T

describe('sums of flaky tests', () => {
  interface Flaky {
    flaky: { project: string }[]
    total: object
    subgroups: object[]
    groups?: object
  }

  it("sums flaky tests and lost time by group and attribute, including tests beyond the list's limit, and counts each job once", async () => {
    const minute = 60_000
    const { flaky, total, subgroups, groups } = await json<Flaky>('/tests?project=acme/&limit=1')
    expect(flaky.map(({ project }) => project)).toEqual(['acme/data/etl'])
    expect(total).toEqual({ tests: 8, jobs: 4, lostMs: 18 * minute })
    expect(subgroups).toEqual([
      { name: 'acme/data/', tests: 2, jobs: 1, lostMs: 10 * minute },
      { name: 'acme/shop/', tests: 4, jobs: 2, lostMs: 7 * minute },
    ])
    expect(groups).toEqual({
      by: 'team',
      lines: [
        { name: 'data', tests: 2, jobs: 1, lostMs: 10 * minute },
        { name: 'payments', tests: 4, jobs: 2, lostMs: 7 * minute },
        { name: '', tests: 2, jobs: 1, lostMs: minute },
      ],
    })
    expect(await json('/tests?own=payments')).toMatchObject({ total: { tests: 4, jobs: 2, lostMs: 7 * minute } })
  })

  it('shows sums of flaky tests in tables that link to the page of each group or attribute value', async () => {
    const page = await text('/tests?project=acme/')
    expect(page).toContain('aria-label="By team"')
    expect(page).toContain('href="/tests?span=30d&amp;project=acme%2Fshop%2F"')
    expect(page).toContain('href="/tests?span=30d&amp;project=acme%2F&amp;own=data"')
    expect(page).toMatch(/<strong>8 flaky tests<\/strong>; the jobs\s+that\s+failed with them took\s+<strong>18 m 00 s/)
    expect(page).not.toContain('vault')
  })
})

it('shows no sums by group if there is only one group', () => {
  const subgroups = (paths: readonly string[], scope?: string) =>
    groupsOf(paths, { scope, groupBy: undefined, pathOf: one => one }, all => [...all]).subgroups
  expect(subgroups(['a/b/c', 'a/b/d'])).toEqual([])
  expect(subgroups(['a/b/c', 'a/x/d', 'a/direct'], 'a/')).toEqual([
    { name: 'a/b/', items: ['a/b/c'] },
    { name: 'a/x/', items: ['a/x/d'] },
  ])
})
