// What is exported, by the configured patterns for projects, refs and pipeline sources.
import picomatch from 'picomatch'
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

/** Chooses texts by globs. Without any to include, all are included. An unknown text is chosen. */
export function chooser(include: readonly string[], exclude: readonly string[]): (text: string | undefined) => boolean {
  // `dot`: `*` matches a leading dot too, because paths and refs have no hidden parts.
  const matches = (patterns: readonly string[]) => picomatch([...patterns], { dot: true })
  const included = include.length === 0 ? () => true : matches(include)
  const excluded = exclude.length === 0 ? () => false : matches(exclude)
  return text => text === undefined || (included(text) && !excluded(text))
}
