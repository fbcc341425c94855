// Tests verdicts over a history of pipelines with random durations: the contributions that each verdict lists add up to the difference from the usual
// duration, on every page and in JSON.
import { countFigures } from '../support/counted-figures.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openHouse, pipelineWebhook, until, type House } from './house.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { durationsIn } from '../model/sentence-figures.ts'

const begun = Date.now() - 6 * 3_600_000
const random = new Random(11)
const stages = [['build'], ['unit 1/2', 'unit 2/2', 'lint'], ['e2e', 'scan'], ['deploy']]
const usually = new Map(stages.flat().map(name => [name, 20 + Math.floor(random.next() * 200)]))

function webhook(id: number): string {
  let ended = 0
  const jobs = stages.flatMap((names, stage) => {
    const start = ended
    return names.map(name => {
      const queued = Math.floor(random.next() * 9)
      const took = Math.round((usually.get(name) ?? 0) * (0.6 + random.next() * (id % 5 === 0 ? 1.6 : 0.8)))
      const [from, to] = [start + queued, start + queued + took]
      ended = Math.max(ended, to)
      return { name, stage: `stage ${stage}`, queued, from, to }
    })
  })
  return pipelineWebhook({ id, begun: begun + id * 180_000, took: ended, jobs })
}

let house: House
const count = 60
beforeAll(async () => {
  house = await openHouse()
  for (let id = 1; id <= count; id += 1) await house.post(webhook(id))
  await until(async () => {
    const { open, runs } = await house.daemon.store.runs.count()
    return runs === count && open === 0
  }, 20_000)
  await countFigures(house.daemon.store)
})
afterAll(async () => house.close())

interface Detail {
  readonly pipeline: { readonly spentMs: number }
  readonly verdict: {
    readonly sentence: string
    readonly outcome: string
    readonly ms: number
    readonly comparedWith?: number
    readonly parts: readonly { readonly ms: number }[]
  }
}

it('explains every deviation from the usual duration to within a tenth, by comparison with a run that the page names', async () => {
  const details = new Map<number, Detail>()
  for (let id = 1; id <= count; id += 1) {
    details.set(id, (await (await fetch(`${house.url}/api/pipelines/3/${id}`)).json()) as Detail)
  }
  let differing = 0
  for (const [id, { pipeline, verdict }] of details) {
    const { sentence, outcome, ms, comparedWith, parts } = verdict
    const other = details.get(comparedWith ?? 0)
    expect(other, `a run that took as long as usual, for ${id}`).toBeDefined()
    expect(ms).toBe(pipeline.spentMs - (other?.pipeline.spentMs ?? 0))
    expect(parts.reduce((sum, part) => sum + part.ms, 0)).toBe(ms)
    if (outcome === 'usual') continue
    differing += 1
    const figures = durationsIn(sentence.split(': ')[1] ?? '')
    const unexplained = ms - figures.reduce((sum, one) => sum + one, 0)
    expect(Math.abs(unexplained), sentence).toBeLessThanOrEqual(Math.abs(ms) / 10)
    const page = await (await fetch(`${house.url}/pipelines/3/${id}`)).text()
    expect(page).toContain(`${sentence.slice(1)}.`)
  }
  expect(differing).toBeGreaterThan(count / 3)
})
