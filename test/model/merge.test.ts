import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonical } from '../../src/model/versioned.ts'
import { observedRun, mergeRun, type Run } from '../../src/model/run.ts'
import { viewJob } from '../../src/model/job.ts'
import { observation } from './arbitraries.ts'
import type { Observation } from '../../src/model/observation.ts'
import { runs } from '../full.ts'

function reported(observations: readonly Observation[]): Run {
  return observations.map(observedRun).reduce(mergeRun)
}

function picture(run: Run): string {
  const jobs = [...run.jobs.values()].sort((a, b) => a.id - b.id)
  return canonical({ project: run.project, pipeline: run.pipeline, jobs })
}

describe('the merging of observations', () => {
  it('produces the same run for observations in any order and with repetitions', () => {
    const shuffled = fc
      .array(observation, { minLength: 1, maxLength: 8 })
      .chain(some =>
        fc.tuple(fc.constant(some), fc.shuffledSubarray([...some, ...some], { minLength: some.length * 2 })),
      )
    fc.assert(
      fc.property(shuffled, ([some, again]) => {
        expect(picture(reported(again))).toBe(picture(reported(some)))
      }),
      runs(2_000),
    )
  })

  it('produces the same run however its observations are grouped', () => {
    fc.assert(
      fc.property(observation, observation, observation, (a, b, c) => {
        const [x, y, z] = [observedRun(a), observedRun(b), observedRun(c)]
        expect(picture(mergeRun(mergeRun(x, y), z))).toBe(picture(mergeRun(x, mergeRun(y, z))))
      }),
      runs(2_000),
    )
  })

  it('returns the known run itself if an observation contains nothing new', () => {
    fc.assert(
      fc.property(fc.array(observation, { minLength: 1, maxLength: 5 }), some => {
        const run = reported(some)
        for (const again of some) expect(mergeRun(run, observedRun(again))).toBe(run)
      }),
      runs(500),
    )
  })

  it('never replaces a known field by an unknown one', () => {
    fc.assert(
      fc.property(observation, observation, (a, b) => {
        const merged = reported([a, b])
        const known = { ...a.pipeline?.facts, ...b.pipeline?.facts }
        for (const [field, value] of Object.entries(known)) {
          if (value !== undefined) expect(merged.pipeline?.record.facts).toHaveProperty(field)
        }
      }),
    )
  })

  it('keeps the facts of a merge request from a webhook when REST reports only its iid or title', () => {
    fc.assert(
      fc.property(fc.array(observation, { minLength: 1, maxLength: 5 }), some => {
        const requests = some.flatMap(({ pipeline }) => pipeline?.facts.mergeRequest ?? [])
        const merged = reported(some).pipeline?.record.facts.mergeRequest
        expect(merged?.title !== undefined).toBe(requests.some(({ title }) => title !== undefined))
        expect(merged?.id).toBe(requests.find(({ id }) => id !== undefined)?.id)
      }),
    )
  })

  it('does not show a job as running if it ends before it starts', () => {
    fc.assert(
      fc.property(fc.array(observation, { minLength: 1, maxLength: 5 }), some => {
        for (const job of reported(some).jobs.values()) {
          const view = viewJob(job)
          if (view.status === 'running') expect(view.finishedAt).toBeUndefined()
        }
      }),
    )
  })
})
