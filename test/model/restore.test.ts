import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { at, event, job, rest, rules } from '../flow/world.ts'
import { canonical } from '../../src/model/versioned.ts'
import { snapshotAttempt } from '../../src/model/snapshot.ts'
import { observedRun, mergeRun, type Run } from '../../src/model/run.ts'
import { observation } from './arbitraries.ts'
import { restoreJob, restoreMark, restorableOf, type Restorable } from '../../src/model/restore.ts'
import { rememberedJob, rememberedSnapshot } from '../../src/model/tombstone.ts'
import type { JobSnapshot } from '../../src/model/chunk.ts'
import type { Job } from '../../src/model/job.ts'
import type { JobFacts, Observation } from '../../src/model/observation.ts'

const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: 7 }

function runOf(observations: readonly Observation[]): Run {
  return observations.map(observedRun).reduce(mergeRun)
}

/** Each job after the snapshot with its span as it comes back from JSON. */
function snapshotJobs(run: Run): { job: Job; span: JobSnapshot; attempt: number }[] {
  const { jobs, chunks } = snapshotAttempt(run, [...run.jobs.values()], trace, false, at(100), rules)
  const byId = new Map(jobs.map(one => [one.id, one]))
  return chunks.flatMap(chunk =>
    chunk.jobs.map(span => ({
      job: byId.get(span.id)!,
      span: JSON.parse(JSON.stringify(span)) as JobSnapshot,
      attempt: chunk.attempt,
    })),
  )
}

function restorablesOf(...observations: Observation[]): Restorable[] {
  return snapshotJobs(runOf(observations)).map(({ job: one, span }) => restorableOf(one, span))
}

const whole = job(
  1,
  'build',
  'success',
  { started: 5, finished: 50 },
  { runner: { id: 3, tags: ['linux'] }, duration: 45 },
)
const finished = event('success', { finishedAt: at(60) }, [whole])

describe('a job restored from a snapshot', () => {
  it('has every fact that the snapshot claims to have', () => {
    const seen = { nothing: 0, mark: 0, job: 0 }
    fc.assert(
      fc.property(fc.array(observation, { minLength: 1, maxLength: 4 }), observations => {
        for (const { job: one, span, attempt } of snapshotJobs(runOf(observations))) {
          const restorable = restorableOf(one, span)
          seen[restorable] += 1
          if (restorable !== 'nothing') expect(restoreMark(span, attempt)).toEqual(one.snapshot)
          if (restorable !== 'job') continue
          expect(canonical(restoreJob(span, attempt))).toBe(canonical(one))
          // A tombstone remembers the same of both.
          expect(rememberedSnapshot(span, attempt)).toEqual(rememberedJob(one))
        }
      }),
    )
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0)
  })

  it('has all facts if one webhook reported the job', () => {
    expect(restorablesOf(finished)).toEqual(['job'])
  })

  it('is only marked as exported if REST reported the job, or if two webhooks reported it differently', () => {
    expect(restorablesOf(rest(finished))).toEqual(['mark'])
    const before = job(
      1,
      'build',
      'running',
      { started: 5 },
      { runner: { id: 3, description: 'one' }, when: 'on_success' },
    )
    expect(restorablesOf(event('running', {}, [before]), finished)).toEqual(['mark'])
  })

  it('is only marked as exported if its tags belong to another runner than it shows', () => {
    const on = (runner: NonNullable<JobFacts['runner']>): Observation =>
      event('success', { finishedAt: at(60) }, [job(1, 'build', 'success', { started: 5, finished: 50 }, { runner })])
    expect(restorablesOf(on({ id: 1, tags: ['linux'] }), on({ id: 2 }))).toEqual(['mark'])
  })

  it('has no facts if the job was in an earlier snapshot', () => {
    const run = runOf([finished])
    const first = snapshotAttempt(run, [...run.jobs.values()], trace, false, at(100), rules)
    expect(snapshotJobs(first.run).map(({ job: one, span }) => restorableOf(one, span))).toEqual(['nothing'])
  })
})
