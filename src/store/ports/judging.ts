// What is read to find out whether something became slower or less reliable: figures of one project, and the newest of its runs.
import type { BranchClass } from '../../model/branch-class.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'
import type { TrendFigures, TrendStep } from './trends.ts'

export interface JudgedProject {
  readonly instance: string
  readonly projectId: number
  /** Full path. */
  readonly project: string
}

export interface JudgedRow extends Pick<TrendFigures, 'runs' | 'failed' | 'durations'> {
  /** Empty: the project's pipelines. */
  readonly job: string
  readonly branch: BranchClass
  readonly bucket: Millis
}

export interface Judging {
  /** Projects with figures since then, each with how many pipelines ended: when that changes there is something new. */
  projects(since: Millis): Promise<readonly (JudgedProject & { readonly runs: number })[]>
  /** Of the project's pipelines and jobs that ended since `active`: their figures since `since`, in no order. */
  figures(of: JudgedProject, step: TrendStep, since: Millis, active: Millis): Promise<readonly JudgedRow[]>
  /** The chunks of the newest runs that ended, some runs at a time, the newest first: of so many runs at most. */
  newest(of: JudgedProject, limit: number): AsyncIterable<readonly Chunk[]>
}
