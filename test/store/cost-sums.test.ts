// Costs that are added up in memory before they are written.
import { expect, it } from 'vitest'
import { CostSums } from '../../src/core/store/read-models/cost-sums.ts'
import { openWorld, at, event, job, hour } from '../flow/world.ts'

it('reports how many rows are to be written, which limits memory', async () => {
  const world = openWorld()
  const sums = new CostSums()
  expect(sums.size).toBe(0)
  for (const id of [1, 2]) {
    const jobs = ['build', `test ${'ab'[id - 1]}`].map((name, n) =>
      job(id * 10 + n, name, 'success', { started: 5, finished: 50 }),
    )
    await world.observe(event('success', { finishedAt: at(60) }, jobs, {}, id))
  }
  await world.pass(hour)
  for (const chunk of await world.sent()) sums.add(chunk)
  // The project's, and one for each of three jobs.
  expect(sums.rows()).toHaveLength(4)
  expect(sums.size).toBe(4)
})
