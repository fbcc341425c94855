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

export type SectionFigures = Pick<JudgedRow, 'runs' | 'failed' | 'durations'>

/** Of one day. */
export interface JudgedSectionRow extends JudgedRow {
  readonly section: string
}

export interface Judging {
  /** Projects with figures since then, each with how many pipelines ended: when that changes there is something new. */
  projects(since: Millis): Promise<readonly (JudgedProject & { readonly runs: number })[]>
  /** Of the project's pipelines and jobs that ended since `active`: their figures since `since`, in no order. */
  figures(of: JudgedProject, step: TrendStep, since: Millis, active: Millis): Promise<readonly JudgedRow[]>
  /** Figures of days of the sections of jobs that ended since `active`, some jobs at a time. */
  sections(of: JudgedProject, since: Millis, active: Millis): AsyncIterable<readonly JudgedSectionRow[]>
  /**
   * The chunks of the newest runs that ended, some runs at a time, the newest first: of so many runs at most. `sectionsOf`: names of jobs;
   * what was read of their sections comes with them, after the chunks of the same runs.
   */
  newest(of: JudgedProject, limit: number, sectionsOf?: ReadonlySet<string>): AsyncIterable<readonly Chunk[]>
}
