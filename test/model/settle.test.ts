// Tests when the snapshot of a run is due.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { observation } from './arbitraries.ts'
import { mergeRun, observedRun } from '../../src/model/run.ts'
import { plan } from '../../src/model/settle.ts'
import { remember, revive } from '../../src/model/tombstone.ts'
import { at, day, event, job, rules } from '../flow/world.ts'
import { runs } from '../full.ts'

const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: 7 }

it('never exports a run that is known only from its jobs, even if it does not change for a long time', () => {
  fc.assert(
    fc.property(observation, fc.nat(1_000), (reported, days) => {
      const run = observedRun({ ...reported, pipeline: undefined })
      expect(plan(run, trace, rules, { changedAt: 0, now: days * day })).toEqual({ step: 'rest' })
    }),
    runs(500),
  )
})

it('exports no job of a pruned run until the pipeline itself is observed again', () => {
  const known = observedRun(event('success', { finishedAt: at(60) }, [job(1, 'build', 'success', { finished: 50 })]))
  const late = { changedAt: 0, endedAt: 0, now: 4e12 }
  const first = plan(known, trace, rules, late)
  if (first.step !== 'snapshot') throw new Error('it is due')
  const pruned = revive(remember({ ...first.snapshot.run, jobs: new Map() })!)
  const unknown = event('success', {}, [job(2, 'test', 'success', { finished: 40 })])
  const run = mergeRun(pruned, observedRun({ ...unknown, pipeline: undefined }))
  expect(plan(run, trace, rules, late)).toEqual({ step: 'rest' })
  expect(plan(mergeRun(run, known), trace, rules, late)).toMatchObject({ step: 'snapshot', why: 'supplement' })
})
