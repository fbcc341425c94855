// Tests which jobs are loaded to merge an observation, and which details Pipespan requests from the platform for a merged run.
import { describe, expect, it } from 'vitest'
import { mergeIntoRun, mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { observedRun } from '../../../src/model/run.ts'
import { plan } from '../../../src/model/settle.ts'
import { remember, revive } from '../../../src/model/tombstone.ts'
import { event, job, jobEvent, minute, rules, t0 } from '../../flow/world.ts'
import type { StoredRun } from '../../../src/core/store/ports/runs.ts'

const enriched = { ...rules, enrichDeadline: 120_000 }
const running = event('running', {}, [job(70, 'build', 'running', { started: 5 })])
const finished = event('success', { finishedAt: t0 + 60_000 }, [
  job(70, 'build', 'success', { started: 5, finished: 50 }),
])
const late = event('success', { finishedAt: t0 + 60_000 }, [job(71, 'test', 'success', { started: 5, finished: 40 })])

function merged(known: StoredRun | undefined, observation: typeof finished) {
  const change = mergeIntoRun(known, observedRun(observation), t0, enriched)
  if (change === undefined) throw new Error('nothing has changed')
  return { change, stored: { run: change.run, timing: change.timing, firstSeenBy: {} } }
}

it('requests the details of a pipeline when its end is first observed, and not at each later observation', () => {
  const begun = merged(undefined, running)
  expect(begun.change.enrichment).toMatchObject({ detail: 'state', priority: 'silent' })
  const ended = merged(begun.stored, finished)
  expect(ended.change.enrichment).toMatchObject({ detail: 'details' })
  expect(merged(ended.stored, late).change.enrichment).toBeUndefined()
})

it('requests the pipeline if only jobs were observed', () => {
  const { pipeline: _, ...jobsOnly } = running
  expect(merged(undefined, jobsOnly as typeof running).change.enrichment).toMatchObject({ detail: 'pipeline' })
})

describe('new work of an exported pipeline', () => {
  const retried = jobEvent(job(72, 'build', 'running', { created: 100, started: 101 }))
  function exported(): StoredRun {
    const { stored } = merged(undefined, finished)
    const trace = { scheme: 'instance', profile: 'generic', rootPipelineId: 7 } as const
    const step = plan(stored.run, trace, rules, { now: t0 + minute, changedAt: t0 })
    if (step.step !== 'snapshot') throw new Error('no snapshot is due')
    return { ...stored, run: step.snapshot.run, timing: { changedAt: t0 } }
  }

  function revived(): StoredRun {
    const tombstone = remember(exported().run)
    if (tombstone === undefined) throw new Error('the run was not exported')
    return { run: revive(tombstone), timing: { changedAt: t0 }, firstSeenBy: {} }
  }

  it('requests the state of the pipeline later if only a job event reports the retry', () => {
    expect(merged(exported(), retried).change.enrichment).toMatchObject({ detail: 'state', priority: 'silent' })
    expect(merged(exported(), jobEvent(...late.jobs)).change.enrichment).toBeUndefined()
  })

  it('requests the pipeline if only a job event reports the retry and only a tombstone is left', () => {
    expect(merged(revived(), retried).change.enrichment).toMatchObject({ detail: 'pipeline', priority: 'fresh' })
    expect(merged(revived(), jobEvent(...late.jobs)).change.enrichment).toBeUndefined()
  })

  it('requests the state later if a pipeline event reports the retry and only a tombstone is left', () => {
    const again = event('running', {}, [...retried.jobs])
    expect(merged(revived(), again).change.enrichment).toMatchObject({ detail: 'state', priority: 'silent' })
  })
})

it('requests the state of a waiting pipeline later if only a job event reports that its manual job was played', () => {
  const { stored } = merged(
    undefined,
    event('manual', {}, [job(70, 'build', 'success', { started: 5, finished: 50 }), job(71, 'deploy', 'manual')]),
  )
  const played = jobEvent(job(71, 'deploy', 'running', { started: 90 }))
  expect(merged(stored, played).change.enrichment).toMatchObject({ detail: 'state', priority: 'silent' })
  const late = jobEvent(job(70, 'build', 'success', { started: 5, finished: 51 }))
  expect(merged(stored, late).change.enrichment).toBeUndefined()
})

it.each([
  ['only the observed jobs of an active run', running, 0, [70]],
  ['only the observed jobs of a finished run that waits for the settle delay', finished, rules.settle, [70]],
  ['all jobs of a finished run without a settle delay', finished, 0, 'all'],
])('loads %s', (_what, observation, settle, jobs) => {
  expect(mergeObservations([observation], 'webhook', { ...rules, settle }).map(work => work.jobs)).toEqual([jobs])
})
