// Deployments by groups of projects and by the operator's attribute, on the pages and in the JSON API.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  deployments as storedDeployments,
  deploymentReporter,
} from '../../../src/features/deployments/sql/deployments.ts'
import { reportsBy } from '../../../src/core/store/ports/reporter.ts'
import { observedEvent, type Deployment } from '../../../src/features/deployments/model/deployment.ts'
import { openHouse, until, type House } from '../../console/house.ts'
import type { Environments } from '../../../src/features/deployments/pages/environment-figures.ts'

const rules = `
attributes:
  rules:
    - { projects: { include: ['acme/shop/*', 'acme/vault/*'] }, set: { team: payments } }
    - { projects: { include: ['acme/data/*'] }, set: { team: data } }
`
const hour = 3_600_000
const instance = 'https://git.example.com'
const [web, api, etl, tool, vault] = ['shop/web', 'shop/api', 'data/etl', 'tool', 'vault/keys'].map((name, at) => ({
  ...{ id: at + 1, name, path: `acme/${name}` },
})) as [Project, Project, Project, Project, Project]
type Project = NonNullable<Deployment['project']>

let house: House
beforeAll(async () => {
  house = await openHouse({ PIPESPAN_PAGES_GROUP_BY: 'team', PIPESPAN_PAGES_HIDE: 'acme/vault/**' }, rules)
  for (const project of [web, api, etl, tool, vault]) await reportPipeline(project)
  await until(async () => (await house.daemon.store.views.projects(9)).length === 5)
  await deploy([
    [web, 'success', 1],
    [web, 'failed', 2],
    [api, 'success', 3],
    [etl, 'success', 4],
    [tool, 'success', 5],
    [vault, 'failed', 6],
  ])
})
afterAll(async () => house.close())

async function reportPipeline({ id, name, path: project = '' }: Project): Promise<void> {
  const url = `${instance}/${project}`
  const at = new Date().toISOString()
  const times = { created_at: at, finished_at: at }
  const body = JSON.stringify({
    object_kind: 'pipeline',
    object_attributes: { id, ref: 'main', status: 'success', ...times, url: `${url}/-/pipelines/${id}` },
    project: { id, name, path_with_namespace: project, web_url: url },
    builds: [],
  })
  await house.post(body)
}

async function deploy(all: readonly (readonly [Project, string, number])[]): Promise<void> {
  const { runs, on } = house.daemon.store
  const deployments = on(storedDeployments)
  const made = all.map(([project, status, hours], at): { report: Deployment; countIn: number } => ({
    report: {
      ...{ instance, project, deploymentId: at + 1, jobId: at + 1 },
      event: observedEvent({
        ...{ status, at: Date.now() - (48 - hours) * hour, environment: 'production', tier: 'production' },
        revision: `${at}`.repeat(40),
      }),
    },
    countIn: 0,
  }))
  await runs.transact([], { reports: reportsBy(deploymentReporter, made) })
  await until(async () =>
    (await deployments.list({ since: 0, until: Date.now(), limit: 9 })).every(({ figures }) => figures !== undefined),
  )
}

const text = async (address: string): Promise<string> => (await fetch(house.url + address)).text()
const json = async <T>(address: string): Promise<T> => JSON.parse(await text(`/api${address}`)) as T

describe('the deployments of a group and of an own attribute', () => {
  const keys = (lines: Environments['subgroups'] = []): unknown[] =>
    lines.map(({ name, keys: { deployments, failureRate } }) => [name, deployments, failureRate])

  it('are added up with their failure rate, without hidden projects', async () => {
    const { subgroups, groups } = await json<Environments>('/environments?span=7d&project=acme/')
    expect(keys(subgroups)).toEqual([
      ['acme/shop/', 3, 1 / 3],
      ['acme/data/', 1, 0],
    ])
    expect(groups?.by).toBe('team')
    expect(keys(groups?.lines)).toEqual([
      ['payments', 3, 1 / 3],
      ['', 1, 0],
      ['data', 1, 0],
    ])
    const one = await json<Environments>('/environments?span=7d&project=acme/shop/web')
    expect([one.subgroups, one.groups]).toEqual([[], undefined])
  })

  it('are tables of the page, whose lines lead to the page of the group or value', async () => {
    const page = await text('/environments?span=7d&project=acme/')
    expect(page).toContain('aria-label="Groups"')
    expect(page).toContain('href="/environments?span=7d&amp;project=acme%2Fshop%2F"')
    expect(page).toContain('href="/environments?span=7d&amp;project=acme%2F&amp;own=payments"')
    expect(page).not.toContain('vault')
    const own = await text('/environments?span=7d&own=data')
    expect(own).toContain('acme/<wbr />data/<wbr />etl')
    expect(own).not.toContain('<wbr />shop')
  })
})
