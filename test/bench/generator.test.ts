import { describe, expect, it } from 'vitest'
import { bodiesOf, finishedPipeline, jobEvent, pipelineEvent } from '../../bench/payload.ts'
import { parseDelivery } from '../../src/platform/webhook/parse-delivery.ts'
import { plansOf } from '../../bench/plans.ts'
import { platformMix } from '../../bench/hooks.ts'
import { profiles } from '../../src/daemon/profile.ts'
import type { Observation } from '../../src/model/observation.ts'

function observationOf(event: string, body: Buffer): Observation {
  const delivery = { event, instance: 'https://git.example.com', body }
  const parsed = parseDelivery(delivery, { profile: profiles.generic, traceparent: false })
  if (parsed.outcome !== 'observation') throw new Error(`the delivery is ${parsed.outcome}`)
  return parsed.observation
}

describe('the pipelines of the benchmarks', () => {
  it('are the same for the same seed, and differ for another', () => {
    expect(plansOf('company', 50, 7)).toEqual(plansOf('company', 50, 7))
    expect(plansOf('company', 50, 7)).not.toEqual(plansOf('company', 50, 8))
  })

  it('have 1 to 5,000 jobs in the simulation of a company, mostly few', () => {
    const sizes = plansOf('company', 1_000).map(({ jobs }) => jobs.length)
    expect(Math.min(...sizes)).toBe(1)
    expect(Math.max(...sizes)).toBeGreaterThan(1_000)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5_000)
    expect(sizes.filter(size => size <= 13).length).toBeGreaterThan(600)
  })

  it.each([1, 20, 200, 5_000])('can be decoded, with %i jobs and the requested ids', jobs => {
    const { key, jobs: all, pipeline } = observationOf('Pipeline Hook', finishedPipeline(jobs).body(42))
    expect(key.pipelineId).toBe(1_000_000_042)
    expect(all).toHaveLength(jobs)
    expect(new Set(all.map(({ id }) => id)).size).toBe(jobs)
    expect(pipeline?.times.finishedAt).toBeGreaterThan(0)
  })

  it('of 20 jobs are as large as on the platform, 24.6 KB', () => {
    const sizes = bodiesOf(finishedPipeline(20), 64).map(({ length }) => length)
    expect(sizes.reduce((sum, size) => sum + size) / sizes.length).toBeCloseTo(24_600, -3)
  })

  it('end one after the other, as in life', () => {
    const template = finishedPipeline(20)
    const [first, later] = [0, 64 * 20_000].map(
      n => observationOf('Pipeline Hook', template.body(n)).pipeline?.times.finishedAt ?? 0,
    )
    // 1,280,000 pipelines later, at twenty a second.
    expect((later ?? 0) - (first ?? 0)).toBe(64_000_000)
  })

  it('are reported alike by pipeline events and job events', () => {
    const [plan] = plansOf('twenty', 1)
    if (plan === undefined) throw new Error('there is no plan')
    const whole = observationOf('Pipeline Hook', pipelineEvent(plan, 1).body(5))
    const one = observationOf('Job Hook', jobEvent(plan, 3, 'finished').body(5))
    expect(one.key).toEqual(whole.key)
    const [job] = one.jobs
    const same = whole.jobs.find(({ id }) => id === job?.id)
    expect([job?.facts.name, job?.facts.status, job?.times]).toEqual([
      same?.facts.name,
      same?.facts.status,
      same?.times,
    ])
  })
})

it('the mix of a platform has eight events per pipeline, with one finish at the end, and three per job', () => {
  const next = platformMix()
  const lives = Map.groupBy(
    Array.from({ length: 50 * 68 * 3 }, () => next()),
    ({ pipeline }) => pipeline,
  )
  // Those that begin after the start and end before the end.
  const whole = [...lives].filter(([pipeline, life]) => pipeline >= 50 && life.length === 68)
  expect(whole.length).toBeGreaterThan(50)
  for (const [pipeline, life] of whole) {
    const own = life.filter(({ event }) => event === 'Pipeline Hook')
    expect(own.length).toBe(8)
    expect(life.findIndex(({ isFinish }) => isFinish)).toBe(67)
    const states = Map.groupBy(
      life
        .filter(({ event }) => event === 'Job Hook')
        .map(({ event, template }) => observationOf(event, template.body(pipeline)).jobs[0]),
      job => job?.id,
    )
    expect([...states.values()].map(jobs => jobs.length)).toEqual(Array(20).fill(3))
  }
})
