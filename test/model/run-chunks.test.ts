// Tests that a run's chunks for pages are rebuilt from the stored run exactly as they were exported.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { at, event, job, rules } from '../flow/world.ts'
import { chunksOf } from '../../src/model/run-chunks.ts'
import { mergeRun, observedRun, type Run } from '../../src/model/run.ts'
import { observation } from './arbitraries.ts'
import { plan } from '../../src/model/settle.ts'
import { remember, revive } from '../../src/model/tombstone.ts'
import { runs } from '../full.ts'
import type { Chunk } from '../../src/model/chunk.ts'

const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: 7 }
const options = { ...rules, chunkSize: 2, rateOf: () => ({ name: 'small', perMinute: 0.01, factor: 1 }) }

/** Takes all due snapshots of a run. Returns the run after them, and their chunks. */
function exported(run: Run): { readonly run: Run; readonly chunks: readonly Chunk[] } {
  const chunks: Chunk[] = []
  for (;;) {
    const next = plan(run, trace, options, { changedAt: 0, endedAt: 0, now: 4e12 })
    if (next.step !== 'snapshot') return { run, chunks }
    run = next.snapshot.run
    chunks.push(...next.snapshot.chunks)
  }
}

/** Converts a value to JSON and back, which removes undefined fields. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

function inOrder(chunks: readonly Chunk[]): Chunk[] {
  return chunks.toSorted((a, b) => a.attempt - b.attempt || a.number - b.number)
}

it("rebuilds the chunks of a run's snapshots for any run", () => {
  fc.assert(
    fc.property(fc.array(observation, { minLength: 1, maxLength: 4 }), observed => {
      const key = observed[0]!.key
      const [first, ...rest] = observed.map(one => observedRun({ ...one, key }))
      const { run, chunks } = exported(rest.reduce(mergeRun, first!))
      expect(asJson(chunksOf(asRun(run)))).toEqual(asJson(inOrder(chunks)))
    }),
    runs(300),
  )
})

/** Returns the run in the form in which the store returns it. */
function asRun(run: Run): Run {
  const { jobs, ...head } = run
  return { ...(asJson(head) as Run), jobs: new Map((asJson([...jobs]) as [number, never][]).map(one => one)) }
}

it('keeps the first span of a job that runs again, with its times, its status and its cost', () => {
  const played = (finished: number, status: string): Run =>
    observedRun(
      event('success', { finishedAt: at(finished) }, [
        job(1, 'deploy', status, { started: finished - 20, finished }),
        job(2, 'build', 'success', { started: 0, finished: 30 }),
      ]),
    )
  const first = exported(played(60, 'failed'))
  const second = exported(mergeRun(first.run, played(200, 'success')))
  const rebuilt = chunksOf(second.run).flatMap(({ attempt, jobs }) =>
    jobs.map(({ id, status, start, end, cost, salt }) => ({ attempt, id, status, start, end, cost, salt })),
  )
  const sent = [...first.chunks, ...second.chunks].flatMap(({ attempt, jobs }) =>
    jobs.map(({ id, status, start, end, cost, salt }) => ({ attempt, id, status, start, end, cost, salt })),
  )
  expect(sent.map(({ attempt, id }) => [attempt, id])).toEqual([
    [1, 1],
    [1, 2],
    [2, 1],
  ])
  expect(rebuilt).toEqual(sent)
})

it('rebuilds no chunks for a pruned run', () => {
  const { run } = exported(observedRun(event('success', { finishedAt: at(60) }, [job(1, 'build', 'success', {})])))
  expect(chunksOf(run)).toHaveLength(1)
  expect(chunksOf(revive(remember(run)!))).toEqual([])
})
