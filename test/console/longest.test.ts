// Tests sorting the list of pipelines by values that are not stored with the pipeline: its duration, and the ratio of its duration to the usual one.
import { countFigures } from '../support/counted-figures.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openHouse, type House } from './house.ts'
import type { ListedRun } from '../../src/console/pipelines/run-card.ts'

let house: House
beforeAll(async () => {
  house = await openHouse()
  await house.live(['small', 'nightly', 'mergeRequest', 'family'], {
    families: 40,
    start: Date.now() - 3_600_000,
    pause: 1,
  })
  await countFigures(house.daemon.store)
})
afterAll(async () => house.close())

interface List {
  readonly pipelines: readonly ListedRun[]
  readonly total?: number
  readonly next?: string
  readonly sortedBackTo?: number
}

const list = async (query: string): Promise<List> =>
  (await (await fetch(`${house.url}/api/pipelines?${query}`)).json()) as List

describe('the sorted list of pipelines', () => {
  it('lists the longest pipelines first, whatever their age', async () => {
    const all = await list('limit=200')
    const { pipelines, total, next } = await list('sort=duration&limit=200')
    const took = pipelines.map(({ spentMs = 0 }) => spentMs)
    expect(took).toEqual(took.toSorted((a, b) => b - a))
    expect(new Set(pipelines.map(one => one.pipelineId))).toEqual(new Set(all.pipelines.map(one => one.pipelineId)))
    expect([total, next]).toEqual([all.total, undefined])
  })

  it('lists the pipelines with the highest ratio to their usual duration first, and omits those that have no usual duration', async () => {
    const { pipelines } = await list('sort=usual&limit=200')
    expect(pipelines.length).toBeGreaterThan(5)
    const ratios = pipelines.map(({ spentMs = 0, usual }) => spentMs / (usual?.p50 ?? NaN))
    expect(ratios).toEqual(ratios.toSorted((a, b) => b - a))
  })

  it('keeps the filters when the list is sorted, and the order when it is filtered', async () => {
    const { pipelines } = await list('sort=duration&source=schedule')
    expect(pipelines.length).toBeGreaterThan(1)
    expect(pipelines.every(({ source }) => source === 'schedule')).toBe(true)
    const page = await (await fetch(`${house.url}/pipelines?source=schedule&sort=duration`)).text()
    expect(page).toContain('<h2>Longest first</h2>')
    expect(page).toContain('<input type="hidden" name="sort" value="duration" />')
    expect(page).toContain('href="/pipelines?source=schedule&amp;sort=usual"')
  })

  it('reports that an unknown sort order was ignored', async () => {
    expect(await (await fetch(`${house.url}/pipelines?sort=age`)).text()).toContain(
      '“age” is not a sort order and was ignored.',
    )
    expect((await fetch(`${house.url}/api/pipelines?sort=age`)).status).toBe(400)
  })
})
