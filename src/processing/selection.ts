// What is exported, by the configured patterns for projects, refs and pipeline sources.
import { chooser } from '../lib/chooser.ts'
import type { PipelineFacts } from '../model/observation.ts'

export interface SelectionOptions {
  /** Globs over the project's full path; empty: all. */
  readonly projectsInclude: readonly string[]
  readonly projectsExclude: readonly string[]
  /** Globs over the ref (branch, tag or merge request ref); empty: all. */
  readonly refsInclude: readonly string[]
  readonly refsExclude: readonly string[]
  /** Pipeline sources (`schedule`, `push`, …) or globs. */
  readonly sourcesExclude: readonly string[]
}

export interface Selection {
  /** True for a project whose path is not known yet. */
  project(path: string | undefined): boolean
  pipeline(facts: PipelineFacts): boolean
}

export function createSelection(options: SelectionOptions): Selection {
  const project = chooser(options.projectsInclude, options.projectsExclude)
  const ref = chooser(options.refsInclude, options.refsExclude)
  const source = chooser([], options.sourcesExclude)
  return { project, pipeline: facts => ref(facts.ref) && source(facts.source) }
}
