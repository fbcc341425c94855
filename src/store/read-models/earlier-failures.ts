// What failed in a run before a part of it: all that figures over time need of earlier parts. Parts come in the order of their
// numbers, so that each is read once, however many a run has, and none is held.
import type { Chunk } from '../../model/chunk.ts'

/** Ids of the first failed job of each name. */
export type Failures = ReadonlyMap<string, number>

const none: Failures = new Map()

export class EarlierFailures {
  #run: number | undefined
  #byAttempt = new Map<number, Map<string, number>>()

  /** True where the parts before this one must be told of first (`tell`). */
  isMissing(run: number, part: Chunk): boolean {
    if (this.#run === run) return false
    this.#run = run
    this.#byAttempt = new Map()
    return part.attempt > 1 || part.number > 1
  }

  /** A part of the run that was asked about. */
  tell({ attempt, jobs }: Pick<Chunk, 'attempt' | 'jobs'>): void {
    for (const { id, name, status } of jobs) {
      if (name === undefined || status !== 'failed') continue
      const failures = this.#byAttempt.get(attempt) ?? new Map<string, number>()
      this.#byAttempt.set(attempt, failures)
      failures.set(name, Math.min(id, failures.get(name) ?? Infinity))
    }
  }

  /** Of the parts told of, those of this attempt and of earlier ones. */
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
