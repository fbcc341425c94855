// Tests which jobs are loaded to merge an observation, and which details Pipespan requests from the platform for a merged run.
import { expect, it } from 'vitest'
import { mergeIntoRun, mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { observedRun } from '../../../src/model/run.ts'
import { event, job, rules, t0 } from '../../flow/world.ts'
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

it.each([
  ['only the observed jobs of an active run', running, 0, [70]],
  ['only the observed jobs of a finished run that waits for the settle delay', finished, rules.settle, [70]],
  ['all jobs of a finished run without a settle delay', finished, 0, 'all'],
])('loads %s', (_what, observation, settle, jobs) => {
  expect(mergeObservations([observation], 'webhook', { ...rules, settle }).map(work => work.jobs)).toEqual([jobs])
})
