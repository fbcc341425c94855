// Starts a daemon for tests of the pages in a browser: with pipelines of many kinds, a dead letter, and a job that has sections and tests.
import { expect } from 'vitest'
import { generatePipeline } from '../support/generate.ts'
import { openHouse, until, type House } from './house.ts'
import { sampleSections, withSections, withTests } from './read-insides.ts'

const day = 24 * 3_600_000
/** A rule that sets an attribute by which pages can be filtered. */
const rules = "attributes: { rules: [{ projects: { include: ['brightwater/shop/*'] }, set: { team: payments } }] }\n"

export interface BrowsedHouse extends House {
  /** The path of the page of a pipeline with a family. */
  readonly pipeline: string
  /** The path of the page of a dead letter. */
  readonly letter: string
  /** The path of the page of a failed job that has sections. */
  readonly job: string
}

export async function openBrowsedHouse(): Promise<BrowsedHouse> {
  const house = await openHouse({ PIPESPAN_PAGES_GROUP_BY: 'team' }, rules)
  const start = Date.now() - day
  await house.live(['family', 'nightly', 'retried', 'release', 'mergeRequest', 'canceled', 'blocked'], {
    start,
    pause: 1_800,
  })
  // One pipeline is running, and the backend permanently rejects another one.
  const { deliveries } = generatePipeline(5, 'release', { firstIds: { pipeline: 90_000_001, job: 900_000_001 } })
  await house.deliver(deliveries.slice(0, 12))
  house.receiver.misbehave({ fault: { kind: 'status', status: 400, message: 'span name is too long' }, times: 8 })
  await house.deliver(generatePipeline(9, 'small', { firstIds: { pipeline: 91_000_001, job: 910_000_001 } }).deliveries)
  await until(async () => (await house.daemon.store.outbox.deadLetters(5)).length > 0)
  house.receiver.behave()
  const families = (await (await fetch(`${house.url}/api/pipelines?limit=50`)).json()) as {
    pipelines: { projectId: number; pipelineId: number; name?: string }[]
  }
  const monorepo = families.pipelines.find(({ name }) => name === 'Monorepo')
  const job = await withSections(house.daemon.store, sampleSections)
  expect(await withTests(house.daemon.store)).toBe(job)
  return {
    ...house,
    pipeline: `/pipelines/${monorepo?.projectId}/${monorepo?.pipelineId}`,
    letter: `/exports/${(await house.daemon.store.outbox.deadLetters(1))[0]?.id}`,
    job,
  }
}
