// Tests the regressions of two projects that have the same id on two platforms: the query names the platform.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { countFigures } from '../../support/counted-figures.ts'
import { foundRegressions, type ShownRegression } from '../../../src/features/regressions/documents.ts'
import { openHouse, type House } from '../../console/house.ts'

const cloud = { instance: 'https://git.example.com', projectId: 7, project: 'org/app' }
const onprem = { instance: 'https://git.internal.example.com', projectId: 7, project: 'infra/zebra' }
const at = Date.now() - 60_000

let house: House
beforeAll(async () => {
  house = await openHouse()
  const { store } = house.daemon
  for (const one of [cloud, onprem]) {
    await store.repositories.of(foundRegressions).put({
      ...{ ...one, id: 'one', kind: 'slower', branch: 'default', job: `job of ${one.project}`, cause: 'Nothing else.' },
      ...{ before: 1, after: 2, limit: 1, runsBefore: 1, runsAfter: 1, also: [], flaggedAt: at },
      ...{ first: { pipelineId: 1, at, id: 1, attempt: 1 }, flagged: { pipelineId: 1, at } },
      ...{ announced: { detected: true, resolved: false } },
    })
    const ended = { endedAt: at, failed: false, tookMs: 1_000 }
    const figures = { ...one, branch: 'default', source: 'push', pipelineName: '', pipeline: ended, jobs: [] }
    const insert = 'INSERT INTO figures_added (project_id, content) VALUES (7, ?1)'
    await store.on(sql => sql.change(insert, [JSON.stringify([figures])]))
  }
  await countFigures(store)
})
afterAll(async () => house.close())

async function api<T>(path: string, { instance }: { instance: string }): Promise<T> {
  const query = new URLSearchParams({ project: '7', instance }).toString()
  return (await (await fetch(`${house.url}/api/trends/regressions${path}?${query}`)).json()) as T
}
async function page(query: Record<string, string>): Promise<string> {
  const path = `/trends/regressions?${new URLSearchParams(query).toString()}`
  return (await fetch(house.url + path, { headers: { accept: 'text/html' } })).text()
}

it.each([
  [cloud, onprem],
  [onprem, cloud],
])('shows the regressions of $project alone, and tries rules on its pipelines', async (asked, other) => {
  const { regressions } = await api<{ regressions: ShownRegression[] }>('', asked)
  expect(regressions.map(({ project }) => project)).toEqual([asked.project])
  expect(await api('/preview/7', asked)).toMatchObject({ project: asked.project })
  const { instance } = asked
  for (const query of [{ project: '7', instance }, { project: `7 ${instance}` }]) {
    const text = await page(query)
    expect(text).toContain(`Regressions of ${asked.project}`)
    expect(text).toContain(`job of ${asked.project}`)
    expect(text).not.toContain(`job of ${other.project}`)
    expect(text).toContain(`<option value="7 ${instance}"  selected>${asked.project}</option>`)
    expect(text).toContain(`<option value="7 ${other.instance}" >${other.project}</option>`)
  }
})
