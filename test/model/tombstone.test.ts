import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { observedRun, mergeRun, type Run } from '../../src/model/run.ts'
import { isFinished, isTerminal } from '../../src/model/status.ts'
import { observation } from './arbitraries.ts'
import { plan, type RunClock } from '../../src/model/settle.ts'
import { readTombstone, tombstoneText } from '../../src/core/store/sql/tombstone-text.ts'
import { remember, revive } from '../../src/model/tombstone.ts'
import { rules } from '../flow/world.ts'
import type { Observation } from '../../src/model/observation.ts'
import { runs } from '../full.ts'

const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: 7 }
/** A time so late that all pending snapshots are due. */
const late: RunClock = { now: 4e12, changedAt: 0, endedAt: 0 }

/**
 * Observations as a platform may report them: a job or pipeline has no finish time before it has ended, and a job has no start time before it has
 * started.
 */
const plausible = observation.map((one): Observation => {
  const jobs = one.jobs.map(job => {
    const { createdAt, startedAt, finishedAt } = job.times
    const hasEnd = isFinished(job.facts.status) && (startedAt ?? Infinity) <= (finishedAt ?? 0)
    const hasStart = hasEnd || job.facts.status === 'running'
    return { ...job, times: { createdAt, ...(hasStart ? { startedAt } : {}), ...(hasEnd ? { finishedAt } : {}) } }
  })
  if (one.pipeline === undefined || isTerminal(one.pipeline.facts.status)) return { ...one, jobs }
  const { createdAt, updatedAt } = one.pipeline.times
  return { ...one, jobs, pipeline: { ...one.pipeline, times: { createdAt, updatedAt } } }
})

/** Takes snapshots of the run until none is pending. */
function atRest(run: Run): Run {
  for (let steps = 0; steps < 50; steps += 1) {
    const next = plan(run, trace, rules, late)
    if (next.step !== 'snapshot') return run
    run = next.snapshot.run
  }
  throw new Error('never comes to rest')
}

function merged(run: Run | undefined, observations: readonly Observation[]): Run {
  return observations.reduce<Run | undefined>(
    (before, one) => (before === undefined ? observedRun(one) : mergeRun(before, observedRun(one))),
    run,
  )!
}

describe('the tombstone of a pruned run', () => {
  it('exports nothing again for a pruned run, whichever earlier observations are repeated, and in any order', () => {
    let tombstones = 0
    fc.assert(
      fc.property(
        fc.array(fc.array(plausible, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        (batches, choices) => {
          let run: Run | undefined
          for (const batch of batches) run = atRest(merged(run, batch))
          const tombstone = remember(run!)
          if (tombstone === undefined) return
          tombstones += 1
          const all = batches.flat()
          const again = choices.map(choice => all[choice % all.length]!)
          const back = merged(revive(readTombstone(tombstone.key, 3, tombstoneText(tombstone))), again)
          expect(plan(back, trace, rules, late).step).toBe('rest')
        },
      ),
      runs(1_500),
    )
    expect(tombstones).toBeGreaterThan(50)
  })
})
