// Tests sorting the results of a search that stops before it has searched all pipelines.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { manyRuns } from '../core/store/many-runs.ts'
import { openHouse } from './house.ts'

it('says how far back a sorted search has searched, and continues it', async () => {
  const house = closeAfterTest(await openHouse())
  const { store } = house.daemon
  await manyRuns({ store, runs: 5_600, until: Date.now(), every: 1_000, exportQueues: [] })
  const { runs } = await store.views.search({ limit: 1 })
  const newest = String(runs[0]?.run.key.pipelineId)
  for (const text of ['1003', newest]) {
    const page = await (await fetch(`${house.url}/pipelines?text=${text}&sort=duration`)).text()
    expect(page).toContain('Searched back to')
    expect(page).not.toMatch(/Only the newest \d+ matches are sorted/)
    const [, next = ''] = /<a class="button" rel="next" href="([^"]+)">Search older</.exec(page) ?? []
    expect(next).toContain('sort=duration')
    const older = await (await fetch(house.url + next.replaceAll('&amp;', '&'))).text()
    expect(older).not.toContain('Searched back to')
    expect(text === newest ? page : older).toContain(`/${text}"`)
  }
})
