// Selects what to export, by patterns for projects, refs and pipeline sources.
import { chooser, projectChooser, type Choice, type ChooseProject, type PlatformOf } from '../../lib/chooser.ts'
import type { PipelineFacts } from '../../model/observation.ts'

export interface SelectionOptions {
  /** Glob patterns matched against the project's full path. */
  readonly projects: Choice
  /** Glob patterns matched against the ref (branch, tag or merge request ref). */
  readonly refs: Choice
  /** Names or glob patterns of pipeline sources (`schedule`, `push`, …). */
  readonly sources: Choice
}

export interface Selection {
  /** Whether a project is exported. True as long as the project's path is unknown. */
  readonly project: ChooseProject
  pipeline(facts: PipelineFacts): boolean
}

export function createSelection(
  { projects, refs, sources }: SelectionOptions,
  platformOf: PlatformOf = () => undefined,
): Selection {
  const [ref, source] = [chooser(refs), chooser(sources)]
  return { project: projectChooser(projects, platformOf), pipeline: facts => ref(facts.ref) && source(facts.source) }
}
