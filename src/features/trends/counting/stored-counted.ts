// What is counted of chunks, as it is stored until it is added: as lists without names, because it is written, read and deleted again for each pipeline.
import { storedJson } from '../../../core/store/sql/stored-json.ts'
import type { CountedChunk, CountedJob, Ran, Used } from './counted-chunk.ts'

/** `outcome`: 0 passed, 1 failed, 2 flaky. Unknown is null, or the end of the list. */
type RanList = readonly [outcome: 0 | 1 | 2, tookMs: number, queuedMs?: number]
type UsedList = readonly [worker: string, totalMs: number, wasted?: Used['wasted'] | null, cost?: number]
type JobList = readonly [name: string, endedAt: number, ran: RanList | null, used?: UsedList]
interface Stored extends Omit<CountedChunk, 'pipeline' | 'jobs'> {
  readonly pipeline?: readonly [endedAt: number, ran: RanList] | undefined
  readonly jobs: readonly JobList[]
}

export function writtenJson(all: readonly CountedChunk[]): string {
  return JSON.stringify(
    all.map(({ pipeline, jobs = [], ...its }): Stored => ({
      ...its,
      pipeline: pipeline && [pipeline.endedAt, ranList(pipeline)],
      jobs: jobs.map(({ name, endedAt, ran, used }): JobList => {
        const list = [name, endedAt, ran === undefined ? null : ranList(ran)] as const
        return used === undefined ? list : [...list, usedList(used)]
      }),
    })),
  )
}

function ranList({ failed, flaky, tookMs, queuedMs }: Ran): RanList {
  const outcome = failed ? 1 : flaky === true ? 2 : 0
  return queuedMs === undefined ? [outcome, tookMs] : [outcome, tookMs, queuedMs]
}

function usedList({ worker, totalMs, wasted, cost }: Used): UsedList {
  if (cost !== undefined) return [worker, totalMs, wasted ?? null, cost]
  return wasted === undefined ? [worker, totalMs] : [worker, totalMs, wasted]
}

/** Throws DataError if it is damaged. */
export function readJson(content: string): CountedChunk[] {
  return storedJson<Stored[]>(content).map(({ pipeline, jobs, ...its }) => ({
    ...its,
    pipeline: pipeline && { endedAt: pipeline[0], ...ranOf(pipeline[1]) },
    jobs: jobs.map(([name, endedAt, ran, used]): CountedJob => ({
      ...{ name, endedAt, ran: ran === null ? undefined : ranOf(ran) },
      used: used && { worker: used[0], totalMs: used[1], wasted: used[2] ?? undefined, cost: used[3] },
    })),
  }))
}

function ranOf([outcome, tookMs, queuedMs]: RanList): Ran {
  return { failed: outcome === 1, flaky: outcome === 2 ? true : undefined, tookMs, queuedMs }
}
