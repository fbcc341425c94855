// Tests that lists of pipelines lead to the right pipeline if two platforms have pipelines with the same IDs.
import { closeAfterTest } from '../support/after-test.ts'
import { expect, it } from 'vitest'
import { openHouse, pipelineWebhook, until } from './house.ts'

const of = [
  { name: 'cloud', url: 'https://git.example.com' },
  { name: 'onprem', url: 'https://git.example.net' },
] as const

it('links to the pipeline of the right platform if another one has a pipeline with the same IDs', async () => {
  const platforms = of.map(({ name, url }) => `  - {name: ${name}, url: ${url}, webhook: {token: secret-of-${name}}}\n`)
  const house = closeAfterTest(await openHouse({ PIPESPAN_WEBHOOK_TOKEN: '' }, `platforms:\n${platforms.join('')}`))
  for (const { name, url } of of) {
    const headers = {
      ...{ 'content-type': 'application/json', 'x-service-event': 'Pipeline Hook' },
      ...{ 'x-service-token': `secret-of-${name}`, 'x-service-instance': url },
    }
    const jobs = [{ name: 'build', from: 1, to: 50 }]
    const body = pipelineWebhook({ id: 7, project: { id: 3, path: `org/of-${name}` }, jobs })
    const webhook = { method: 'POST', headers, body: body.replaceAll(of[0].url, url) }
    expect((await fetch(`${house.daemon.url}/webhooks`, webhook)).status).toBe(202)
  }
  const { store } = house.daemon
  await until(async () => (await store.views.projects(9)).length === 2 && (await store.runs.count()).open === 0)
  const read = async (path: string): Promise<string> => (await fetch(house.url + path)).text()
  const addresses = (page: string): string[] =>
    [...new Set(page.match(/(?<=href=")\/pipelines\/3\/7[^"]*/g))].map(one => one.replaceAll('&amp;', '&')).sort()
  const named = of.map(({ url }) => `/pipelines/3/7?${new URLSearchParams({ instance: url }).toString()}`)
  for (const list of ['/', '/pipelines']) expect(addresses(await read(list)), list).toEqual(named)
  for (const [at, { name }] of of.entries()) {
    const page = await read(named[at] ?? '')
    expect(page).toContain(`org/of-${name}`)
    expect(page).not.toContain(`org/of-${of[1 - at]?.name}`)
    // The links of a pipeline's page name the platform too.
    expect(addresses(page).filter(one => !one.includes('instance='))).toEqual([])
  }
})
