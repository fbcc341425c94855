// Tests that a project that was renamed is judged by the runs under its latest path.
import { closeAfterTest } from '../../support/after-test.ts'
import { countFigures } from '../../support/counted-figures.ts'
import { expect, it } from 'vitest'
import { openHouse, pipelineWebhook, until } from '../../console/house.ts'
import { previewIn } from './judge.ts'

it('judges a renamed project by its latest runs, whatever its paths are', async () => {
  const house = closeAfterTest(await openHouse())
  const { store } = house.daemon
  const day = 86_400_000
  for (const [id, path, age] of [
    [1, 'org/new', 9 * day],
    [2, 'org/middle', 5 * day],
    [3, 'org/latest', day],
    [4, 'org/latest', day / 2],
  ] as const)
    await house.post(pipelineWebhook({ id, project: { id: 3, path }, begun: Date.now() - age }))
  await until(async () => {
    const { runs, open } = await store.runs.count()
    return runs === 4 && open === 0
  })
  await countFigures(store)
  expect(await previewIn(store, 3, Date.now())).toMatchObject({ project: 'org/latest', pipelines: 2 })
})
