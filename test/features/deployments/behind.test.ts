// Tests how the daemon counts the commits by which an environment is behind the default branch. It requests the commits only on demand, and only for
// visible projects.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deploymentReporter } from '../../../src/features/deployments/sql/deployments.ts'
import { report } from './reported.ts'
import { chromiumPath, expectReadableAt, launch, openContext } from '../../console/browser.ts'
import { createCountBehind } from '../../../src/features/deployments/count-behind.ts'
import { Lifecycle } from '../../../src/simulator/platform/lifecycle.ts'
import { observedEvent, type Deployment } from '../../../src/features/deployments/model/deployment.ts'
import { openHouse, type House } from '../../console/house.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { projects } from '../../../src/simulator/platform/world.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { Timeline } from '../../../src/simulator/platform/timeline.ts'
import { restFaults } from '../../support/rest-faults.ts'

let house: House
let api: RestApi
let ahead: number
beforeAll(async () => {
  const state = new PlatformState()
  const timeline = new Timeline(Date.now() - 86_400_000)
  const random = new Random(1)
  const lifecycle = new Lifecycle(state, timeline, random, () => undefined)
  for (let count = 0; count < 12; count += 1) {
    lifecycle.create({ ...scenarios.small(random), project: projects.storefront, ref: 'main' })
    timeline.runAll()
  }
  const [first] = [...state.pipelines.values()].filter(({ project }) => project.id === projects.storefront.id)
  const own = [...state.pipelines.values()].filter(one => one.project === first?.project && one.ref === 'main')
  ahead = new Set(own.map(({ sha }) => sha)).size - 1
  api = await RestApi.start({ state, now: () => Date.now() })
  house = await openHouse({
    ...{ PIPESPAN_PLATFORM_URL: api.url, PIPESPAN_PLATFORM_TOKEN: 'token' },
    PIPESPAN_PAGES_HIDE: projects.infra.path,
  })
  const of = (id: number, project: (typeof projects)[keyof typeof projects], defaultBranch?: string): Deployment => ({
    ...{ instance: api.url, deploymentId: id, project: { id: project.id, path: project.path, defaultBranch } },
    event: observedEvent({ status: 'success', at: Date.now(), environment: 'production', revision: first!.sha }),
  })
  const made = [of(1, projects.storefront, 'main'), of(2, projects.infra, 'main'), of(3, projects.app)]
  await report(house.daemon.store, deploymentReporter, made)
})
afterAll(async () => {
  await house.close()
  await api.close()
})

async function ask(project: { readonly id: number }, environment = 'production'): Promise<Response> {
  return fetch(`${house.url}/api/environments/behind/${project.id}?environment=${environment}`)
}
const requests = (): number => api.asked.filter(({ path }) => path.endsWith('/repository/commits')).length

describe('the number of commits that an environment is behind', () => {
  it('requests how many commits an environment is behind only on demand, in one request', async () => {
    expect(ahead).toBeGreaterThan(0)
    const list = await (await fetch(`${house.url}/environments`)).text()
    expect(list).toContain(`/environments/behind/${projects.storefront.id}?environment=production`)
    expect(requests()).toBe(0)
    const answer = await (await ask(projects.storefront)).json()
    expect(answer).toMatchObject({ branch: 'main', answer: { as: 'counted', commits: ahead, isAll: true } })
    expect(requests()).toBe(1)
    const page = await fetch(`${house.url}/environments/behind/${projects.storefront.id}?environment=production`)
    const text = await page.text()
    expect(text).toMatch(new RegExp(`${ahead} commits?</strong> behind`))
    expect(text).toContain(`href="${api.url}/${projects.storefront.path}/-/compare/`)
  })

  it.skipIf(chromiumPath === undefined)(
    'shows how many commits an environment is behind on an accessible page, light and dark, wide and narrow',
    async () => {
      const browser = await launch()
      const page = await (await openContext(browser)).newPage()
      const address = `${house.url}/environments/behind/${projects.storefront.id}?environment=production`
      await expectReadableAt(page, address, page.getByRole('heading', { name: 'How far production is behind' }))
      await browser.close()
    },
  )

  it('sends no request to count commits for hidden projects, unknown environments or unknown branches', async () => {
    const before = requests()
    expect((await ask(projects.infra)).status).toBe(404)
    expect((await ask(projects.storefront, 'nowhere')).status).toBe(404)
    expect(await (await ask(projects.app)).json()).toMatchObject({ answer: { as: 'refused' } })
    expect(requests()).toBe(before)
  })

  it("reports that an environment is behind by more commits than counted if the platform's list repeats itself", async () => {
    api.misbehave = ({ path, query }) => {
      const to = `${api.url}/api/v4${path}?${query.toString()}`
      return path.endsWith('/commits')
        ? { status: 200, headers: { link: `<${to}>; rel="next"` }, body: '[{"id":"a"}]' }
        : undefined
    }
    expect(await (await ask(projects.storefront)).json()).toMatchObject({ answer: { commits: 1, isAll: false } })
    api.misbehave = () => undefined
  })

  it('explains why it cannot show how far an environment is behind if the platform does not respond', async () => {
    api.misbehave = ({ path }) => (path.endsWith('/commits') ? restFaults.missingScope() : undefined)
    const page = await fetch(`${house.url}/environments/behind/${projects.storefront.id}?environment=production`)
    expect([page.status, await page.text()]).toEqual([200, expect.stringMatching(/platform/)])
    expect(await (await ask(projects.storefront)).json()).toMatchObject({ answer: { as: 'refused' } })
  })

  it('limits the number of requests per minute that count commits, and leaves budget for other requests', async () => {
    const commits = async function* () {
      yield { items: [] }
    }
    const refusing = createCountBehind({ commits }, 1, { now: () => 0 })
    const of = { projectId: 1, revision: 'a', branch: 'main' }
    expect(await refusing(of)).toEqual({ as: 'counted', commits: 0, isAll: true })
    expect(await refusing(of)).toMatchObject({
      as: 'limited',
      what: expect.stringContaining('within a minute') as string,
    })
  })
})
