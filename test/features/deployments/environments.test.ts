// Tests what the pages and the API show about deployments and environments.
import { incidents as storedIncidents, incidentReporter } from '../../../src/features/deployments/sql/incidents.ts'
import {
  deployments as storedDeployments,
  deploymentReporter,
} from '../../../src/features/deployments/sql/deployments.ts'
import { report, spanOf } from './reported.ts'
import { environmentsOf, type Environments } from '../../../src/features/deployments/pages/environment-figures.ts'
import { environmentsPage } from '../../../src/features/deployments/pages/environments.ts'
import { productionBy, observedEvent, type Deployment } from '../../../src/features/deployments/model/deployment.ts'
import type { RequestContext } from '../../../src/console/layout/frame.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fourKeys } from '../../../src/features/deployments/pages/keys.ts'
import { openHouse, until, type House } from '../../console/house.ts'
import { reportedIncident, type Incident } from '../../../src/features/deployments/model/incident.ts'
import type { DeploymentFigures } from '../../../src/features/deployments/model/deployment-figures.ts'

const hour = 3_600_000
const started = Date.now() - 48 * hour
const shop = { id: 3, name: 'shop', path: 'acme/shop' }
const vault = { id: 301, name: 'keys', path: 'acme/vault/keys' }
const [etl, cli] = [
  { id: 4, name: 'etl', path: 'acme/data/etl' },
  { id: 5, name: 'cli', path: 'acme/tools/cli' },
]
const rules = `
attributes:
  rules:
    - { projects: { include: ['acme/shop', 'acme/vault/*'] }, set: { team: payments } }
    - { projects: { include: ['acme/data/*'] }, set: { team: data } }
`

let house: House
beforeAll(async () => {
  house = await openHouse({ PIPESPAN_PAGES_GROUP_BY: 'team', PIPESPAN_PAGES_HIDE: 'acme/vault/**' }, rules)
  const deployments = house.daemon.store.on(storedDeployments)
  const of = (id: number, environment: string, status: string, hours: number, project = shop): Deployment => ({
    ...{ instance: 'https://git.example.com', project, deploymentId: id, jobId: id * 10 },
    event: observedEvent({
      status,
      at: started + hours * hour,
      environment,
      tier: environment,
      revision: `${id}`.repeat(40),
      user: 'ana',
    }),
    job: {
      ...{ status, finishedAt: started + hours * hour, startedAt: started + hours * hour - 60_000, ref: 'main' },
      span: spanOf(id * 10),
    },
  })
  const made = [
    of(1, 'production', 'success', 1),
    of(2, 'production', 'failed', 3),
    of(3, 'production', 'success', 5),
    of(4, 'staging', 'success', 6),
    of(5, 'production', 'success', 7, vault),
    of(6, 'review', 'success', 8, etl),
    of(7, 'review', 'success', 9, cli),
    of(8, 'review', 'failed', 10, cli),
  ]
  await report(house.daemon.store, deploymentReporter, made)
  const opened = (iid: number, hours: number, closed?: number, of = shop): Incident =>
    reportedIncident({
      ...{ instance: 'https://git.example.com', project: of, iid, at: started + (closed ?? hours) * hour },
      state: closed === undefined ? 'opened' : 'closed',
      openedAt: started + hours * hour,
      closedAt: closed === undefined ? undefined : started + closed * hour,
    })!
  const incidents = [opened(1, 2, 5), opened(2, 4), opened(3, 1, 2, vault)]
  await report(house.daemon.store, incidentReporter, incidents)
  const isCounted = async (): Promise<boolean> =>
    (await deployments.list({ since: 0, until: Date.now(), limit: 9 })).every(({ figures }) => figures !== undefined)
  await until(isCounted)
})
afterAll(async () => house.close())

describe('environments on the pages and in the API', () => {
  it('shows the current deployment of each environment with its time, author and job', async () => {
    const page = await (await fetch(`${house.url}/environments`)).text()
    expect(page).toContain('33333333')
    expect(page).toMatch(/href="\/pipelines\/3\/7\/jobs\/30"/)
    expect(page).toContain('ana')
    expect(page).toContain('Lead time is the median')
  })

  it('shows which environments are production according to the configured patterns', async () => {
    const { on, views } = house.daemon.store
    const [deployments, incidents] = [on(storedDeployments), on(storedIncidents)]
    const parts = { deployments, incidents, views, countBehind: undefined, isProduction: productionBy(['staging']) }
    const found = await environmentsOf(parts, {}, { span: '7d', limit: 9 }, Date.now())
    const live = found.environments.filter(({ isProduction }) => isProduction)
    expect(live.map(({ environment }) => environment)).toEqual(['staging'])
    expect(found.deployments.filter(({ isProduction }) => isProduction)).toHaveLength(1)
    const context = {
      base: '',
      address: '/environments',
      now: Date.now(),
      query: new URLSearchParams(),
    } as RequestContext
    expect(String((await environmentsPage(parts, {}, context)).content)).toMatch(
      /staging <span class="dim">\(production\)</,
    )
  })

  it('returns the four key metrics of environments from the API, for one project or all, without hidden projects', async () => {
    const answer = (await (await fetch(`${house.url}/api/environments?span=7d&project=acme/shop`)).json()) as {
      environments: { environment: string; current?: { deploymentId: number }; keys: object }[]
      deployments: { deploymentId: number }[]
    }
    expect(answer.environments.map(({ environment }) => environment)).toEqual(['staging', 'production'])
    const [, production] = answer.environments
    expect(production).toMatchObject({
      current: { deploymentId: 3, user: 'ana', ref: 'main' },
      keys: { deployments: 3, failed: 1, rollbacks: 0, perDay: 2 / 7, failureRate: 1 / 3, recovery: 2 * hour },
    })
    expect(answer.deployments.map(({ deploymentId }) => deploymentId)).toEqual([4, 3, 2, 1])
    const other = await (await fetch(`${house.url}/api/environments?project=acme/vault/keys`)).json()
    expect(other).toMatchObject({ environments: [], deployments: [] })
    expect((await fetch(`${house.url}/api/environments?span=never`)).status).toBe(400)
  })

  it('returns the four key metrics of production by day, with incidents, without hidden projects', async () => {
    const { overTime } = (await (await fetch(`${house.url}/api/environments?span=7d&project=acme/shop`)).json()) as {
      overTime: { of: string; steps: { succeeded: number; failed: number; at: number }[]; incidents: { iid: number }[] }
    }
    const sum = (of: 'succeeded' | 'failed'): number => overTime.steps.reduce((total, step) => total + step[of], 0)
    expect([overTime.of, sum('succeeded'), sum('failed')]).toEqual(['production', 2, 1])
    expect(overTime.steps.every(({ at }) => at % (24 * hour) === 0)).toBe(true)
    expect(overTime.incidents.map(({ iid }) => iid).sort()).toEqual([1, 2])
    const page = await (await fetch(`${house.url}/environments?span=7d`)).text()
    expect(page).toContain('aria-label="Deployments to production"')
    expect(page).toContain('incident acme/shop#2 opened')
  })

  it('shows the incidents of each project next to its production deployments, without hidden projects', async () => {
    const answer = await (await fetch(`${house.url}/api/environments?span=7d&project=acme/shop`)).json()
    expect(answer).toMatchObject({
      incidents: [{ project: 'acme/shop', opened: 2, open: 1, restored: 3 * hour, perDeployment: 1 }],
    })
    const page = await (await fetch(`${house.url}/environments`)).text()
    expect(page).toContain('Time to restore')
    expect(page).toMatch(/DORA\s+also counts incidents/)
  })

  it("sums deployments by group and by the operator's attribute, without hidden projects", async () => {
    const answer = await fetch(`${house.url}/api/environments?span=7d&project=acme/`)
    const { subgroups, groups } = (await answer.json()) as Environments
    const keys = (lines: Environments['subgroups'] = []): unknown[] =>
      lines.map(({ name, keys: { deployments, failureRate } }) => [name, deployments, failureRate])
    expect(keys(subgroups)).toEqual([
      ['acme/tools/', 2, 1 / 2],
      ['acme/data/', 1, 0],
    ])
    expect([groups?.by, keys(groups?.lines)]).toEqual([
      'team',
      [
        ['payments', 4, 1 / 4],
        ['', 2, 1 / 2],
        ['data', 1, 0],
      ],
    ])
    const page = await (await fetch(`${house.url}/environments?span=7d&project=acme/`)).text()
    expect(page).toContain('href="/environments?span=7d&amp;project=acme%2Fdata%2F"')
    expect(page).toContain('href="/environments?span=7d&amp;project=acme%2F&amp;own=payments"')
    expect(page).not.toContain('vault')
  })

  it('leaves a key metric of deployments undefined if its data is missing', () => {
    expect(fourKeys([], 30)).toEqual({
      deployments: 0,
      failed: 0,
      rollbacks: 0,
      perDay: 0,
      leadTime: undefined,
      failureRate: undefined,
      recovery: undefined,
    })
    const figures = (leadTimes: number[]): DeploymentFigures => ({
      environment: 'p',
      outcome: 'succeeded',
      finishedAt: 0,
      leadTimes,
    })
    const of = (leadTimes: number[]) => ({
      id: 1,
      deployment: { instance: '', project: { id: 1 } },
      view: { status: '' },
      at: 0,
      figures: figures(leadTimes),
    })
    expect(fourKeys([of([5, 1]), of([3])], 1)).toMatchObject({ leadTime: 3, perDay: 2 })
  })
})
