// What is exported at all: the operator's patterns for projects, refs and pipeline sources.
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
  /** A project whose path is not known yet is not excluded by it. */
  project(path: string | undefined): boolean
  pipeline(facts: PipelineFacts): boolean
}

export function createSelection(options: SelectionOptions): Selection {
  const project = chooser(options.projectsInclude, options.projectsExclude)
  const ref = chooser(options.refsInclude, options.refsExclude)
  const source = chooser([], options.sourcesExclude)
  return { project, pipeline: facts => ref(facts.ref) && source(facts.source) }
}

/** By patterns of paths or names; without any to include, all are. What is unknown is chosen. */
export function chooser(include: readonly string[], exclude: readonly string[]): (text: string | undefined) => boolean {
  // Paths and refs have no hidden parts: `*` matches a leading dot, `**` any depth.
  const matches = (patterns: readonly string[]) => picomatch([...patterns], { dot: true })
  const included = include.length === 0 ? () => true : matches(include)
  const excluded = exclude.length === 0 ? () => false : matches(exclude)
  return text => text === undefined || (included(text) && !excluded(text))
}
