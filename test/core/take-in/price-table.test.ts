// Tests the price table with hand-computed examples: which rule applies to a job, and what an attempt costs.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPriceTable, type PriceRule } from '../../../src/core/take-in/price-table.ts'
import { observedRun, type Run } from '../../../src/model/run.ts'
import { priceOf } from '../../../src/model/runner-time.ts'
import { snapshotAttempt } from '../../../src/model/snapshot.ts'
import type { JobFacts } from '../../../src/model/observation.ts'
import type { JobView } from '../../../src/model/job.ts'

const rules: readonly PriceRule[] = [
  { name: 'gpu', match: { tags: ['linux', 'gpu'] }, perMinute: 0.25, factor: 2 },
  { name: 'mac', match: { tags: ['macos'], project: ['brightwater/mobile/**'] }, perMinute: 0.08, factor: 1 },
  { name: 'shared', match: { type: 'instance_type' }, perMinute: 1, factor: 0.5 },
]
const rateOf = createPriceTable(rules)!

function job(facts: Partial<JobFacts>): JobView {
  return { id: 1, kind: 'job', status: 'success', duration: 90, ...facts }
}

const runner = (type: string, tags?: string[]) => ({ id: 1, type, tags })

describe('the first matching rule', () => {
  it.each<[string | undefined, Partial<JobFacts>, string]>([
    ['gpu', { runner: runner('instance_type', ['linux', 'gpu', 'large']) }, 'a/b'],
    // The API reports the tags that a job requires, but not the tags of its runner.
    ['gpu', { runner: runner('group_type'), tags: ['gpu', 'linux'] }, 'a/b'],
    ['shared', { runner: runner('instance_type', ['gpu']) }, 'a/b'],
    ['mac', { runner: runner('group_type', ['macos']) }, 'brightwater/mobile/app'],
    [undefined, { runner: runner('group_type', ['macos']) }, 'brightwater/data/reports'],
    [undefined, {}, 'a/b'],
  ])('applies the rule %s to the job %j', (name, facts, path) => {
    expect(rateOf(job(facts), { id: 1, path })?.name).toBe(name)
  })

  it("applies no rule that has a project pattern if the project's path is unknown", () => {
    expect(rateOf(job({ runner: runner('group_type', ['macos']) }), { id: 1 })).toBeUndefined()
  })
})

describe('a cost', () => {
  it('computes a cost as minutes × price × factor, and never rounds it', () => {
    const gpu = { runner: runner('instance_type', ['linux', 'gpu']) }
    // In the first example, the cost is 1.5 min × 0.25 × 2. In the second one, the job took 100.01 s, which is 1.666833… min.
    expect(priceOf(job(gpu), { id: 1 }, rateOf)).toEqual({ rate: 'gpu', cost: 0.75 })
    expect(priceOf(job({ ...gpu, duration: 100.01 }), { id: 1 }, rateOf)?.cost).toBeCloseTo(0.833416666, 8)
  })

  it('reports no cost for a job that took no runner time', () => {
    const shared = { runner: runner('instance_type') }
    expect(priceOf(job({ ...shared, kind: 'bridge' }), { id: 1 }, rateOf)).toBeUndefined()
    expect(priceOf(job({ ...shared, status: 'running' }), { id: 1 }, rateOf)).toBeUndefined()
    expect(priceOf(job({ ...shared, duration: undefined }), { id: 1 }, rateOf)).toBeUndefined()
  })

  it("adds up the costs of a pipeline's jobs, however many chunks they are split into", () => {
    const durations = fc.array(
      fc.nat(5_000).map(tenths => tenths / 10),
      { minLength: 1, maxLength: 12 },
    )
    fc.assert(
      fc.property(durations, fc.integer({ min: 1, max: 5 }), (seconds, chunkSize) => {
        const run = observed(seconds)
        const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: 7 }
        const { chunks } = snapshotAttempt(run, [...run.jobs.values()], trace, false, 0, { chunkSize, rateOf })
        const jobs = chunks.flatMap(chunk => chunk.jobs)
        const all = chunks[0]!.pipeline
        expect(all.cost).toBeCloseTo(
          jobs.reduce((sum, { cost = 0 }) => sum + cost, 0),
          9,
        )
        expect(all.computeMs! / 60_000 / 2).toBeCloseTo(all.cost!, 4)
        expect(new Set(chunks.map(({ pipeline }) => pipeline.cost)).size).toBe(1)
      }),
    )
  })
})

function observed(seconds: readonly number[]): Run {
  const times = { createdAt: 1_000_000, finishedAt: 9_000_000 }
  return observedRun({
    key: { instance: 'https://git.example.com', pipelineId: 7 },
    origin: 'webhook',
    project: { id: 3 },
    pipeline: { facts: { status: 'success' }, times },
    jobs: seconds.map((duration, index) => ({
      id: index + 1,
      facts: { kind: 'job', status: 'success', name: `job ${index}`, duration, runner: runner('instance_type') },
      times: { startedAt: 2_000_000, finishedAt: 2_000_000 + Math.round(duration * 1_000) },
    })),
  })
}
