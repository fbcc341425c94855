// Tests that no list contains regressions of projects that the configuration hides.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { foundRegressions, type ShownRegression } from '../../../src/features/regressions/documents.ts'
import { openHouse, type House } from '../../console/house.ts'

let house: House
beforeAll(async () => {
  house = await openHouse({ PIPESPAN_PAGES_HIDE: 'acme/vault/**' })
  const stored = house.daemon.store.repositories.of(foundRegressions)
  for (const [projectId, project] of [
    [3, 'acme/shop'],
    [301, 'acme/vault/keys'],
  ] as const) {
    await stored.put({
      ...{ instance: 'https://git.example.com', projectId, project, id: `of ${projectId}` },
      ...{
        kind: 'slower',
        branch: 'default',
        job: 'build',
        before: 1,
        after: 2,
        limit: 1,
        runsBefore: 1,
        runsAfter: 1,
      },
      ...{ first: { pipelineId: 1, at: 1, id: 1, attempt: 1 }, flagged: { pipelineId: 1, at: 1 }, flaggedAt: 1 },
      ...{ cause: 'Nothing else.', also: [], announced: { detected: true, resolved: false } },
    })
  }
})
afterAll(async () => house.close())

it.each(['/', '/trends', '/trends/regressions', '/trends/regressions?project=301'])(
  'hides regressions of hidden projects on the page %s',
  async path => {
    const text = await (await fetch(house.url + path, { headers: { accept: 'text/html' } })).text()
    expect(text).not.toContain('vault')
    expect(text.includes('shop')).toBe(!path.endsWith('301'))
  },
)

it.each(['overview', 'trends', 'trends/regressions'])(
  'hides regressions of hidden projects in the API response %s',
  async path => {
    const answer = (await (await fetch(`${house.url}/api/${path}`)).json()) as { regressions: ShownRegression[] }
    expect(answer.regressions.map(({ project }) => project)).toEqual(['acme/shop'])
  },
)
