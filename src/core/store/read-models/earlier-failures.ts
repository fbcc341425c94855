// The failed jobs in earlier chunks of a run: trends need them to recognise flaky jobs. Chunks of one run are added in their order.
import { hasFailed } from '../../../model/status.ts'
import type { Chunk } from '../../../model/chunk.ts'

/** The id of the first failed job of each name. */
export type Failures = ReadonlyMap<string, number>

const none: Failures = new Map()

export class EarlierFailures {
  readonly #byAttempt = new Map<number, Map<string, number>>()

  add({ attempt, jobs }: Pick<Chunk, 'attempt' | 'jobs'>): void {
    for (const { id, name, status } of jobs) {
      if (name === undefined || !hasFailed(status)) continue
      const failures = this.#byAttempt.get(attempt) ?? new Map<string, number>()
      this.#byAttempt.set(attempt, failures)
      failures.set(name, Math.min(id, failures.get(name) ?? Infinity))
    }
  }

  /** Of this attempt and earlier ones. */
  upTo(attempt: number): Failures {
    const found = [...this.#byAttempt].filter(([of]) => of <= attempt).map(([, failures]) => failures)
    const [only = none] = found
    if (found.length <= 1) return only
    const all = new Map<string, number>()
    for (const [name, id] of found.flatMap(failures => [...failures])) {
      all.set(name, Math.min(id, all.get(name) ?? Infinity))
    }
    return all
  }
}
