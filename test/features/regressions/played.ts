// Stores several days of runs as if their snapshots had been taken, with their jobs and the jobs' sections.
import { at, event, instance, job, rules } from '../../flow/world.ts'
import { countedIn, countFigures } from '../../support/counted-figures.ts'
import { day } from '../../../src/features/regressions/series.ts'
import { insideChunks, insideJobOf } from '../../../src/model/inside-chunks.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { sectionStep } from '../../../src/features/regressions/section-figures.ts'
import { snapshotAttempt } from '../../../src/model/snapshot.ts'
import type { RunWork } from '../../../src/core/store/ports/runs.ts'
import type { Section } from '../../../src/model/inside.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

/** A run of a job: the durations of the script's sections by name, in order, in seconds, and the section in which it failed. */
export interface RunOfJob {
  readonly sections: Readonly<Record<string, number>>
  readonly failsIn?: string | undefined
  readonly reason?: string | undefined
}
/** The runs of a pipeline's jobs, by job name. */
export type Pipeline = Readonly<Record<string, RunOfJob>>

export const perDay = 6

/** Stores runs on these days. Days are relative to the current time of the test bench, so past days are negative. */
export async function play(
  store: Store,
  projectId: number,
  [fromDay, toDay]: readonly [number, number],
  of: (run: number) => Pipeline,
): Promise<void> {
  const first = fromDay * perDay
  const runs = Array.from({ length: (toDay - fromDay) * perDay }, (_, index) => first + index)
  const observed = runs.map(run => observation(projectId, run, of(run)))
  await store.runs.transact(mergeObservations(observed, 'webhook', rules))
  await store.runs.transact(observed.map(({ key }, index) => snapshotWork(key.pipelineId, of(runs[index]!))))
  await countFigures(store)
}

/** Returns the pipeline id of a run. */
export function idOf(projectId: number, run: number): number {
  return projectId * 10_000 + 5_000 + run
}

function observation(projectId: number, run: number, pipeline: Pipeline) {
  const id = idOf(projectId, run)
  const start = (run * day) / perDay / 1_000
  const jobs = Object.entries(pipeline).map(([name, one], index) =>
    job(
      id * 10 + index,
      name,
      one.failsIn === undefined ? 'success' : 'failed',
      { created: start, started: start, finished: start + secondsOf(one) },
      { failureReason: one.reason },
    ),
  )
  const seconds = Math.max(...Object.values(pipeline).map(secondsOf))
  const status = Object.values(pipeline).some(one => one.failsIn !== undefined) ? 'failed' : 'success'
  const times = { createdAt: at(start), finishedAt: at(start + seconds) }
  const facts = { ref: 'main', sha: String(id).padStart(40, 'a'), user: { id: 1, username: 'alice' } }
  const observed = event(status, times, jobs, facts, id)
  return {
    ...observed,
    project: { ...observed.project, id: projectId, path: `acme/p${projectId}`, defaultBranch: 'main' },
  }
}

function secondsOf({ sections }: RunOfJob): number {
  return Object.values(sections).reduce((sum, seconds) => sum + seconds, 1)
}

/** Returns the sections of a job run. The runner's own sections are at the top level; all others are within the script. */
function sectionsOf({ sections, failsIn }: RunOfJob, start: number): Section[] {
  let from = start
  const inner = Object.entries(sections).map(([name, seconds], index): Section => {
    const begun = from
    from += seconds * 1_000
    const isOwn = name === 'get_sources'
    return {
      ...{ ordinal: index + 2, name, kind: isOwn ? 'runner' : 'custom', clock: 'line', start: begun, end: from },
      ...(!isOwn && { parent: 1 }),
      ...(name === failsIn && { failed: true }),
    }
  })
  const script: Section = {
    ...{ ordinal: 1, name: 'step_script', kind: 'runner', clock: 'line', start, end: from },
    ...(failsIn !== undefined && { failed: true }),
  }
  return [script, ...inner]
}

function snapshotWork(pipelineId: number, pipeline: Pipeline): RunWork {
  return {
    key: { instance, pipelineId },
    jobs: 'all',
    decide: (known, now) => {
      if (known === undefined) return undefined
      const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: pipelineId }
      const snapshot = snapshotAttempt(known.run, [...known.run.jobs.values()], trace, false, now, rules)
      const [chunk] = snapshot.chunks
      const read = chunk!.jobs.map(one => {
        return { job: insideJobOf(one), sections: sectionsOf(pipeline[one.name ?? '']!, one.start) }
      })
      const made = insideChunks(snapshot.run, chunk!, read)!
      const pending = [chunk!, ...made.chunks].map(one => ({ chunk: one, to: [] }))
      const ofInsides = made.chunks.flatMap(one => sectionStep.onInside?.(one, { isSent: true }) ?? [])
      const reports = [...countedIn(snapshot.run, snapshot.chunks), ...ofInsides]
      return { run: made.run, timing: { changedAt: now }, pending, reports }
    },
  }
}
