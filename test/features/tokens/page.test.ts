// Tests the ingest tokens page and its JSON API route.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openHouse, type House } from '../../console/house.ts'
import { rotations } from '../../../src/features/tokens/documents.ts'

let house: House

beforeAll(async () => {
  house = await openHouse({ PIPESPAN_OBSERVABILITY_URL: 'https://observability.example.com' })
})

afterAll(async () => house.close())

it('sorts rotations in the tokens API route as on the tokens page', async () => {
  const recorded = house.daemon.store.repositories.of(rotations)
  for (const [id, name, startedAt, tookMs] of [
    ['r1', 'b', 3_000, 500],
    ['r2', 'c', 1_000, 900],
    ['r3', 'a', 2_000, 100],
  ] as const) {
    const times = { startedAt, updatedAt: startedAt + tookMs }
    await recorded.put({ id, name, target: 'file:/token', state: 'done', ...times })
  }
  const names = async (sort = ''): Promise<string[]> => {
    const answer = await fetch(`${house.url}/api/tokens${sort}`)
    return ((await answer.json()) as { rotations: { name: string }[] }).rotations.map(({ name }) => name)
  }
  expect(await names()).toEqual(['b', 'a', 'c'])
  expect(await names('?sort=token')).toEqual(['a', 'b', 'c'])
  expect(await names('?sort=-token')).toEqual(['c', 'b', 'a'])
  expect(await names('?sort=began')).toEqual(['c', 'a', 'b'])
  expect(await names('?sort=-took')).toEqual(['c', 'b', 'a'])
  expect((await fetch(`${house.url}/api/tokens?sort=nothing`)).status).toBe(400)
})

it('names the observability instance on the tokens page, and links to that page from others', async () => {
  expect(await (await fetch(`${house.url}/tokens`)).text()).toContain('https://observability.example.com')
  expect(await (await fetch(`${house.url}/sources`)).text()).toContain('href="/tokens"')
})
