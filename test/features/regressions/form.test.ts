// Tests the form in which people try a rule on a project.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { countFigures } from '../../support/counted-figures.ts'
import { openHouse } from '../../console/house.ts'

it('contains the requested project even if 200 others have more pipelines, or if it has none', async () => {
  const house = closeAfterTest(await openHouse())
  const { store } = house.daemon
  const figures = Array.from({ length: 201 }, (_, index) => {
    const pipeline = { endedAt: Date.now() - 60_000, failed: false, tookMs: 1_000 }
    const project = { instance: 'https://git.example.com', projectId: index + 1, project: `org/app-${index + 1}` }
    const one = { ...project, branch: 'default', source: 'push', pipelineName: '', pipeline, jobs: [] }
    return index < 200 ? [one, one] : [one]
  })
  const insert = 'INSERT INTO figures_added (project_id, content) VALUES (1, ?1)'
  await store.on(sql => sql.change(insert, [JSON.stringify(figures.flat())]))
  await countFigures(store)
  const options = async (project: number): Promise<string[]> => {
    const page = await (await fetch(`${house.url}/trends/regressions?project=${project}`)).text()
    return (page.match(/<option[^>]*selected>[^<]*/g) ?? []).map(option => option.replace(/\s+/g, ' '))
  }
  expect(await options(7)).toEqual(['<option value="7" selected>org/app-7'])
  expect(await options(201)).toEqual(['<option value="201" selected>org/app-201'])
  expect(await options(999)).toEqual(['<option value="999" selected>999'])
})
