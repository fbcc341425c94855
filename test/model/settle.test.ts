// Tests when the snapshot of a run is due.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { observation } from './arbitraries.ts'
import { mergeRun, observedRun, type Run } from '../../src/model/run.ts'
import { plan } from '../../src/model/settle.ts'
import { remember, revive } from '../../src/model/tombstone.ts'
import { at, day, event, job, reported, rules } from '../flow/world.ts'
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

it('counts a pipeline that waits for a person as blocked only while none of its jobs is running', () => {
  const waiting = (build: string): number | undefined => {
    const run = observedRun(event('manual', {}, [job(1, 'build', build, { started: 5 }), job(2, 'deploy', 'manual')]))
    const next = plan(run, trace, rules, { changedAt: 1_000, now: 1_000 })
    return next.step === 'wait' ? next.due - 1_000 : undefined
  }
  expect(waiting('success')).toBe(rules.blockedAfter)
  expect(waiting('running')).toBe(rules.staleAfter)
})

it('exports a job that ended before the last snapshot but was observed later as a supplement, not in the next attempt', () => {
  const build = job(1, 'build', 'success', { started: 5, finished: 50 })
  const late = job(2, 'lint', 'success', { started: 5, finished: 40 })
  const again = job(3, 'build', 'success', { created: 100, started: 105, finished: 150 })
  const clock = { changedAt: 0, endedAt: 0, now: 4e12 }
  const exports = (run: Run): { readonly run: Run; readonly lines: readonly string[] } => {
    const next = plan(run, trace, rules, clock)
    if (next.step !== 'snapshot') return { run, lines: [] }
    const rest = exports(next.snapshot.run)
    return { run: rest.run, lines: [...reported(next.snapshot.chunks), ...rest.lines] }
  }
  const first = exports(observedRun(event('success', { finishedAt: at(60) }, [build])))
  expect(first.lines).toEqual(['attempt 1 success [1:success]'])
  const retried = event('success', { finishedAt: at(160) }, [build, late, again])
  expect(exports(mergeRun(first.run, observedRun(retried))).lines).toEqual([
    'attempt 2 success [3:success]',
    'supplement to 1 [2:success]',
  ])
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
