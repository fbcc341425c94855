// Tests that the payloads generated for benchmarks can be decoded, and that they are as large as the platform's payloads.
import { expect, it } from 'vitest'
import { bodiesOf, finishedPipeline } from '../../bench/payload.ts'
import { parseDelivery } from '../../src/platform/webhook/parse-delivery.ts'
import { plansOf } from '../../bench/plans.ts'
import { profiles } from '../../src/daemon/profile.ts'

it('generates pipelines of 1 to 5,000 jobs, most of them small, and the same sizes for the same seed', () => {
  const sizes = plansOf('company', 1_000, 7).map(({ jobs }) => jobs.length)
  expect(plansOf('company', 1_000, 7).map(({ jobs }) => jobs.length)).toEqual(sizes)
  expect(Math.min(...sizes)).toBe(1)
  expect(Math.max(...sizes)).toBeGreaterThan(1_000)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(5_000)
  expect(sizes.filter(size => size <= 13).length).toBeGreaterThan(600)
})

it.each([1, 20, 5_000])('generates a pipeline of %i jobs that can be decoded and has the requested IDs', jobs => {
  const delivery = {
    event: 'Pipeline Hook',
    instance: 'https://git.example.com',
    body: finishedPipeline(jobs).body(42),
  }
  const parsed = parseDelivery(delivery, { profile: profiles.generic, traceparent: false })
  if (parsed.outcome !== 'observation') throw new Error(`the delivery is ${parsed.outcome}`)
  expect(parsed.observation.key.pipelineId).toBe(1_000_000_042)
  expect(new Set(parsed.observation.jobs.map(({ id }) => id)).size).toBe(jobs)
})

it("generates a 24.6 KB payload for a pipeline of 20 jobs, as large as the platform's", () => {
  const sizes = bodiesOf(finishedPipeline(20), 64).map(({ length }) => length)
  expect(sizes.reduce((sum, size) => sum + size) / sizes.length).toBeCloseTo(24_600, -3)
})
