// What the simulated platform's pipelines live through, and that what it reports of them is what happened.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { generate, generatePipeline } from '../support/generate.ts'
import { scenarios, type ScenarioName } from '../../src/simulator/platform/scenarios.ts'
import { observedRun, mergeRun, type Run } from '../../src/model/run.ts'
import { parseDelivery } from '../../src/platform/webhook/parse-delivery.ts'
import { profiles } from '../../src/daemon/profile.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'
import type { PipelineTruth } from '../support/truth.ts'
import { runs } from '../full.ts'

const names = Object.keys(scenarios) as [ScenarioName, ...ScenarioName[]]
const seed = fc.nat(100_000)

function jobNamed(pipeline: PipelineTruth | undefined, name: string) {
  return pipeline?.jobs.filter(job => job.name === name) ?? []
}

function observe(delivery: Delivery) {
  const event = delivery.kind === 'pipeline' ? 'Pipeline Hook' : 'Job Hook'
  const parsed = parseDelivery(
    { event, instance: 'https://git.brightwater.example', body: Buffer.from(delivery.body) },
    { profile: profiles.generic, traceparent: false },
  )
  if (parsed.outcome !== 'observation') throw new Error(JSON.stringify(parsed))
  return parsed.observation
}

/** The runs that Pipespan's own model makes of these deliveries. */
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
  it('makes the same deliveries for the same seed, and others for another', () => {
    const options = { scenarios: names, pipelines: names.length }
    const once = [...generate({ ...options, seed: 7 })]
    expect([...generate({ ...options, seed: 7 })]).toEqual(once)
    expect([...generate({ ...options, seed: 8 })]).not.toEqual(once)
  })

  it('gives every pipeline, job and delivery a unique id', () => {
    const families = [...generate({ seed: 1, scenarios: names, pipelines: 30 })]
    const pipelines = families.flatMap(family => family.pipelines)
    const jobs = pipelines.flatMap(pipeline => pipeline.jobs)
    const deliveries = families.flatMap(family => family.deliveries)
    expect(new Set(pipelines.map(({ id }) => id)).size).toBe(pipelines.length)
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(jobs.length)
    expect(new Set(deliveries.map(({ key }) => key)).size).toBe(deliveries.length)
  })

  it('reports in order of time, and never a future time', () => {
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

  it('reports everything in webhooks, in any order', () => {
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
            // What never ran leaves no times to tell new from old by; the rest is the same whatever came first.
            for (const job of reported.filter(({ startedAt }) => startedAt !== undefined)) {
              expect([job.name, run?.jobs.get(job.id)?.record.facts.status]).toEqual([job.name, job.status])
            }
          }
        },
      ),
      runs(60),
    )
  })

  it('ends with a pipeline event whose builds are exactly the latest jobs, in any order', () => {
    const { deliveries, pipelines } = generatePipeline(3, 'retried')
    const last = deliveries.filter(({ kind }) => kind === 'pipeline').at(-1)
    const { object_attributes: reported, builds } = JSON.parse(last?.body ?? '') as {
      object_attributes: { status: string }
      builds: { id: number; status: string }[]
    }
    const latest = pipelines[0]!.jobs.filter(({ retried }) => !retried)
    expect(reported.status).toBe(pipelines[0]!.status)
    expect(Object.fromEntries(builds.map(({ id, status }) => [id, status]))).toEqual(
      Object.fromEntries(latest.map(({ id, status }) => [id, status])),
    )
    const orders = deliveries
      .filter(({ kind }) => kind === 'pipeline')
      .map(({ body }) => (JSON.parse(body) as { builds: { id: number }[] }).builds.map(({ id }) => id))
    expect(orders.some(ids => ids.join() !== ids.toSorted((a, b) => a - b).join())).toBe(true)
  })
})

describe('the scenarios', () => {
  it('retried: the failed test runs under a new id, the skipped deployment under its own', () => {
    const [pipeline] = generatePipeline(1, 'retried').pipelines
    expect(pipeline?.ends.map(({ status }) => status)).toEqual(['failed', 'success'])
    expect(jobNamed(pipeline, 'integration tests')).toMatchObject([
      { status: 'failed', retried: true },
      { status: 'success', retried: false },
    ])
    expect(jobNamed(pipeline, 'deploy staging')).toMatchObject([{ status: 'success', runs: 1 }])
  })

  it('flakyRunner: the platform retries by itself, and the pipeline ends once', () => {
    const [pipeline] = generatePipeline(1, 'flakyRunner').pipelines
    expect(pipeline?.ends.map(({ status }) => status)).toEqual(['success'])
    expect(jobNamed(pipeline, 'build ios').map(({ status }) => status)).toEqual(['failed', 'success'])
  })

  it('family: three generations, each under the bridge that triggered it', () => {
    const { pipelines } = generatePipeline(1, 'family')
    const [root] = pipelines
    expect(pipelines).toHaveLength(4)
    for (const { rootId } of pipelines) expect(rootId).toBe(root?.id)
    const bridges = pipelines.flatMap(({ id, jobs }) =>
      jobs.filter(({ kind }) => kind === 'bridge').map(job => ({ pipelineId: id, bridgeId: job.id })),
    )
    const parents = pipelines.flatMap(({ parent }) => (parent === undefined ? [] : [parent]))
    expect(parents).toHaveLength(3)
    expect(bridges).toEqual(expect.arrayContaining(parents))
    const grandchild = pipelines.find(({ projectId }) => projectId !== root?.projectId)
    expect(grandchild?.parent?.pipelineId).not.toBe(root?.id)
  })

  it('retriedChild: the bridge runs again under its id, and parent and child end twice', () => {
    const [parent, child] = generatePipeline(1, 'retriedChild').pipelines
    expect(jobNamed(parent, 'frontend')).toMatchObject([{ status: 'success', runs: 2 }])
    expect([parent?.ends.length, child?.ends.length]).toEqual([2, 2])
  })

  it('release: waits for a manual job, then continues and triggers another project', () => {
    const { deliveries, pipelines } = generatePipeline(1, 'release')
    const statuses = deliveries
      .filter(({ kind, pipelineId }) => kind === 'pipeline' && pipelineId === pipelines[0]?.id)
      .map(({ body }) => (JSON.parse(body) as { object_attributes: { status: string } }).object_attributes.status)
    expect(statuses).toEqual(['pending', 'running', 'manual', 'running', 'success'])
    expect(pipelines[1]?.projectId).not.toBe(pipelines[0]?.projectId)
  })

  it('canceled: running and unstarted jobs both end canceled', () => {
    const [pipeline] = generatePipeline(1, 'canceled').pipelines
    expect(pipeline?.status).toBe('canceled')
    expect(pipeline?.jobs.map(({ status }) => status)).toEqual(['canceled', 'canceled', 'canceled'])
    expect(jobNamed(pipeline, 'beta')).toMatchObject([{ startedAt: undefined, runs: 0 }])
    expect(jobNamed(pipeline, 'beta')[0]?.finishedAt).toBe(pipeline?.finishedAt)
  })

  it('nightly: a timeout fails it and skips later jobs', () => {
    const { deliveries, pipelines } = generatePipeline(1, 'nightly')
    expect(pipelines[0]?.status).toBe('failed')
    expect(jobNamed(pipelines[0], 'publish')).toMatchObject([{ status: 'skipped' }])
    expect(deliveries.at(-1)?.body).toContain('"source":"schedule"')
    expect(deliveries.at(-1)?.body).toContain('"failure_reason":"job_execution_timeout"')
  })

  it('mergeRequest: passes with warnings, and names the merge request and its source branch', () => {
    const { deliveries } = generatePipeline(1, 'mergeRequest')
    const reported = JSON.parse(deliveries.at(-1)?.body ?? '') as {
      object_attributes: { ref: string; detailed_status: string }
      merge_request: { source_branch: string; target_branch: string }
    }
    expect(reported.object_attributes.detailed_status).toBe('passed with warnings')
    expect(reported.merge_request.source_branch).toBe(reported.object_attributes.ref)
    expect(reported.merge_request.target_branch).toBe('main')
  })

  it('blocked: stays manual, with nothing running', () => {
    const [pipeline] = generatePipeline(1, 'blocked').pipelines
    expect([pipeline?.status, pipeline?.ends]).toEqual(['manual', []])
  })
})
