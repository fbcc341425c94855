// Figures over time that are added up in memory as soon as their chunks are committed, and stored some seconds later, by project: pipelines of one
// project share their rows, so each row is written once for many of them, and no run is read again for it.
//
// With each chunk a row of `uncounted_chunks` says who counts it (`kept_by`): this memory, by a number of its own, or nobody yet, 0. The transaction
// that stores the sums of a project deletes the rows of its chunks. If the process ends before, the next one finds rows of another memory, and reads
// their runs (`trend-steps.ts`).
import { EarlierFailures } from './earlier-failures.ts'
import { TrendSums, PipelineNames } from './trend-sums.ts'
import type { Chunk } from '../../../model/chunk.ts'

/** What was gathered of one project. */
export interface Gathered {
  readonly projectId: number
  readonly sums: TrendSums
  /** How many chunks that are. */
  readonly chunks: number
}

export interface GatheredFigures {
  /** The `kept_by` of this memory. */
  readonly mark: number
  /** The `kept_by` of a chunk that will be written. */
  keptBy(chunk: Chunk): number
  /** After the commit, chunks that this memory keeps. */
  add(chunks: readonly Chunk[]): void
  /** Projects whose first chunk came at least so long ago, ms, until they have so many rows. Without memory for more, others too. */
  due(age: number, rows: number): readonly Gathered[]
  /** They were stored. */
  forget(stored: readonly Gathered[]): void
  /** Gathers nothing until this is called: where no page reads figures, nobody would store them. */
  start(): void
}

/** Rows in memory; each takes some 800 bytes. What comes beyond is counted from its run. */
const maxRows = 12_000

/** `mark`: differs from that of any other process that had the store. `elapsed`: milliseconds. */
export function gatherFigures(mark: number, elapsed: () => number): GatheredFigures {
  const names = new PipelineNames()
  // By the time of their first chunk.
  const projects = new Map<number, { sums: TrendSums; chunks: number; since: number }>()
  let rows = 0
  let isOn = false

  return {
    mark,
    // Of others, the chunks before decide which jobs are flaky.
    keptBy: ({ attempt, number, inside }) =>
      isOn && attempt === 1 && number === 1 && inside === undefined && rows < maxRows ? mark : 0,
    add: chunks => {
      for (const chunk of chunks) {
        const { id } = chunk.project
        const known = projects.get(id) ?? { sums: new TrendSums(names), chunks: 0, since: elapsed() }
        projects.set(id, known)
        const before = known.sums.size
        const failures = new EarlierFailures()
        failures.add(chunk)
        known.sums.add(chunk, failures.upTo(1))
        known.chunks += 1
        rows += known.sums.size - before
      }
    },
    due: (age, wanted) => {
      const found: Gathered[] = []
      let taken = 0
      for (const [projectId, { sums, chunks, since }] of projects) {
        if (taken >= wanted || (elapsed() - since < age && rows < maxRows / 2)) break
        found.push({ projectId, sums, chunks })
        taken += sums.size
      }
      return found
    },
    forget: stored => {
      for (const { projectId, sums } of stored) {
        projects.delete(projectId)
        rows -= sums.size
      }
    },
    start: () => {
      isOn = true
    },
  }
}
