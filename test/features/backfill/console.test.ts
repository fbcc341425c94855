// Tests what the sources page and the JSON API show about a backfill.
import { expect, it } from 'vitest'
import { backfillProgress } from '../../../src/features/backfill/past-pipelines.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { openHouse } from '../../console/house.ts'

it('lists a backfill in progress among the sources', async () => {
  const house = closeAfterTest(await openHouse())
  const [since, until] = [Date.UTC(2026, 4, 1), Date.UTC(2026, 4, 8)]
  const under = { instance: 'https://git.example.com', name: 'a', since, until, startedAt: until, after: 7 }
  await house.daemon.store.repositories.of(backfillProgress).put(under)
  expect(await (await fetch(`${house.url}/sources`)).text()).toContain('from 2026-05-01 to 2026-05-08, in progress')
  const { discovery } = (await (await fetch(`${house.url}/api/sources`)).json()) as { discovery: object }
  expect(discovery).toMatchObject({ backfills: [under], sweeps: [] })
})
