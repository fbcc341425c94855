// Tests what happens in the simulated platform's pipelines, and that the platform reports it correctly.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { generate, generatePipeline } from '../support/generate.ts'
import { scenarios, type ScenarioName } from '../../src/simulator/platform/scenarios.ts'
import { observedRun, mergeRun, type Run } from '../../src/model/run.ts'
import { parseDelivery } from '../../src/platform/webhook/parse-delivery.ts'
import { profiles } from '../../src/daemon/profile.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'
import { runs } from '../full.ts'

const names = Object.keys(scenarios) as [ScenarioName, ...ScenarioName[]]
const seed = fc.nat(100_000)

function observe(delivery: Delivery) {
  const event = delivery.kind === 'pipeline' ? 'Pipeline Hook' : 'Job Hook'
  const parsed = parseDelivery(
    { event, instance: 'https://git.brightwater.example', body: Buffer.from(delivery.body) },
    { profile: profiles.generic, traceparent: false },
  )
  if (parsed.outcome !== 'observation') throw new Error(JSON.stringify(parsed))
  return parsed.observation
}

/** Returns the runs that Pipespan's own model derives from these deliveries. */
function runsOf(deliveries: readonly Delivery[]): Map<number, Run> {
  const runs = new Map<number, Run>()
  for (const delivery of deliveries) {
    const observed = observedRun(observe(delivery))
    const known = runs.get(delivery.pipelineId)
    runs.set(delivery.pipelineId, known === undefined ? observed : mergeRun(known, observed))
  }
  return runs
}

describe('the generator', () => {
  it('generates the same deliveries for the same seed, and different ones for a different seed', () => {
    const options = { scenarios: names, pipelines: names.length }
    const once = [...generate({ ...options, seed: 7 })]
    expect([...generate({ ...options, seed: 7 })]).toEqual(once)
    expect([...generate({ ...options, seed: 8 })]).not.toEqual(once)
  })

  it('gives every pipeline, job and delivery a unique ID', () => {
    const families = [...generate({ seed: 1, scenarios: names, pipelines: 30 })]
    const pipelines = families.flatMap(family => family.pipelines)
    const jobs = pipelines.flatMap(pipeline => pipeline.jobs)
    const deliveries = families.flatMap(family => family.deliveries)
    expect(new Set(pipelines.map(({ id }) => id)).size).toBe(pipelines.length)
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(jobs.length)
    expect(new Set(deliveries.map(({ key }) => key)).size).toBe(deliveries.length)
  })

  it('reports events in chronological order, and never a time in the future', () => {
    fc.assert(
      fc.property(seed, fc.constantFrom(...names), (from, name) => {
        const { deliveries } = generatePipeline(from, name)
        const times = deliveries.map(({ at }) => at)
        expect(times).toEqual(times.toSorted((a, b) => a - b))
        for (const { at, body } of deliveries) {
          const reported = body.matchAll(/"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC"/g)
          for (const [, day, time] of reported) expect(Date.parse(`${day}T${time}Z`)).toBeLessThanOrEqual(at)
        }
      }),
      runs(40),
    )
  })

  it('reports everything about a pipeline through webhooks, whichever order they arrive in', () => {
    fc.assert(
      fc.property(
        seed,
        fc.constantFrom(...names),
        fc.boolean(),
        fc.infiniteStream(fc.nat()),
        (from, name, newest, order) => {
          const { deliveries, pipelines } = generatePipeline(from, name, { newest })
          const shuffled = deliveries
            .map(delivery => ({ delivery, at: order.next().value as number }))
            .sort((a, b) => a.at - b.at)
            .map(({ delivery }) => delivery)
          const runs = runsOf(shuffled)
          expect([...runs.keys()].sort()).toEqual(pipelines.map(({ id }) => id).sort())
          for (const truth of pipelines) {
            const run = runs.get(truth.id)
            expect(run?.pipeline?.record.facts.status).toBe(truth.status)
            const finishedAt = truth.finishedAt === undefined ? undefined : Math.floor(truth.finishedAt / 1000) * 1000
            expect(run?.pipeline?.times.finishedAt).toBe(finishedAt)
            const reported = truth.jobs.filter(({ kind }) => newest || kind === 'job')
            const known = [...(run?.jobs.values() ?? [])]
            expect(known.map(({ id }) => id).sort()).toEqual(reported.map(({ id }) => id).sort())
            // The reports of a job that never ran have no times by which they could be ordered. All other facts are the same, whichever report
            // arrived first.
            for (const job of reported.filter(({ startedAt }) => startedAt !== undefined)) {
              expect([job.name, run?.jobs.get(job.id)?.record.facts.status]).toEqual([job.name, job.status])
            }
          }
        },
      ),
      runs(60),
    )
  })
})
