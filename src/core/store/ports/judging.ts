// The data in which regressions are found: the figures of one project, and its newest runs.
import type { BranchClass } from '../../../model/pipeline.ts'
import type { Chunk } from '../../../model/chunk.ts'
import type { Millis } from '../../../model/instant.ts'
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

/** The figures of one section on one day. */
export interface JudgedSectionRow extends JudgedRow {
  readonly section: string
}

export interface Judging {
  /** Projects with figures since then. `runs`: how many of their pipelines ended, so a new number means new runs. */
  projects(since: Millis): Promise<readonly (JudgedProject & { readonly runs: number })[]>
  /** Figures since `since`, in any order, of the pipelines and of each job that also ran since `active`. */
  figures(of: JudgedProject, step: TrendStep, since: Millis, active: Millis): Promise<readonly JudgedRow[]>
  /** Daily figures of the sections of jobs that also ran since `active`, some jobs at a time. */
  sections(of: JudgedProject, since: Millis, active: Millis): AsyncIterable<readonly JudgedSectionRow[]>
  /**
   * The chunks of the newest `limit` finished runs, some runs at a time, the newest first. `sectionsOf`: names of jobs; the sections that were
   * read of these come with them, after the chunks of the same runs.
   */
  newest(of: JudgedProject, limit: number, sectionsOf?: ReadonlySet<string>): AsyncIterable<readonly Chunk[]>
}
