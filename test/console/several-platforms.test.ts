// Tests a complete daemon with two platforms, one of which rejects a token. The pages show which token it is, what it is used for, and that the
// others work.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { chromiumPath, expectReadableAt, launch, openContext } from './browser.ts'
import { openHouse, type House } from './house.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import { restFaults } from '../support/rest-faults.ts'

let yaml: string
let platforms: RestApi[]
let house: House

beforeAll(async () => {
  platforms = [
    await RestApi.start({ state: new PlatformState(), now: () => Date.now() }),
    await RestApi.start({ state: new PlatformState(), now: () => Date.now() }),
  ]
  const [cloud, onprem] = platforms as [RestApi, RestApi]
  cloud.misbehave = ({ headers }) =>
    headers['private-token'] === 'a-token-that-is-wrong' ? restFaults.wrongToken() : undefined
  yaml = `platforms:
  - name: cloud
    url: ${cloud.url}
    token: accepted
    webhook: {token: secret-of-cloud}
    tokens: [{groups: [brightwater/shop, brightwater/mobile], token: a-token-that-is-wrong, budget: 60}]
  - {name: onprem, url: ${onprem.url}}
poll: {interval: 1s}
`
  house = await openHouse({ PIPESPAN_WEBHOOK_TOKEN: '' }, yaml)
})
afterAll(async () => {
  await house.close()
  await Promise.all(platforms.map(async one => one.close()))
})

it('names the rejected token on the overview and in JSON', async () => {
  const overview = async (): Promise<string> => (await fetch(`${house.url}/`)).text()
  await expect.poll(overview).toContain('cloud/brightwater/shop: The platform does not accept the token')
  const { flow } = (await (await fetch(`${house.url}/api/sources`)).json()) as {
    flow: { platformErrors: { name: string }[] }
  }
  expect(flow.platformErrors.map(({ name }) => name)).toEqual(['cloud/brightwater/shop'])
})

it('lists the platform tokens with their states', async () => {
  const text = (await (await fetch(`${house.url}/sources`)).text())
    .replaceAll('<wbr />', '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
  expect(text).toMatch(/cloud http:\S+ all others in use by its secret \d+ 300/)
  expect(text).toMatch(/cloud\/brightwater\/shop http:\S+ brightwater\/shop, brightwater\/mobile failing – \d+ 60/)
  expect(text).toMatch(/onprem http:\S+ all others no token refused: no secret/)
})

it('does not name the groups of hidden projects', async () => {
  const hiding = await openHouse(
    {
      ...{ PIPESPAN_ADMIN_TOKEN: 'an-admin-token-of-32-characters-x', PIPESPAN_PAGES_HIDE: 'brightwater/shop/**' },
      PIPESPAN_WEBHOOK_TOKEN: '',
    },
    yaml,
  )
  const headers = { authorization: 'Bearer an-admin-token-of-32-characters-x' }
  const text = async (at: string): Promise<string> => (await fetch(`${hiding.url}${at}`, { headers })).text()
  await expect.poll(async () => text('/')).toContain('[hidden] 1: The platform does not accept the token')
  for (const at of ['/', '/sources', '/api/sources', '/api/overview']) {
    expect(await text(at)).not.toMatch(/brightwater(<wbr \/>)?\/(<wbr \/>)?shop/)
  }
  expect(await text('/api/sources')).toContain('cloud/[hidden] 1')
  await hiding.close()
})

it.skipIf(chromiumPath === undefined)('shows an accessible sources page, light and dark, wide and narrow', async () => {
  const browser = await launch()
  const page = await (await openContext(browser)).newPage()
  await expectReadableAt(page, `${house.url}/sources`, page.getByText('one row for each token'))
  await browser.close()
})
