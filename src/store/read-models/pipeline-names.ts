// Under which names figures over time count the pipelines of a project: so many are distinguished, and no more.
import { foldedName } from '../ports/pipeline-name.ts'
import type { Chunk } from '../../model/chunk.ts'

/** Names of one project that one process distinguishes. What comes on top is counted without a name. */
export const mostNames = 20
/** Projects remembered. */
const mostProjects = 10_000

export class PipelineNames {
  readonly #known = new Map<string, Set<string>>()

  /** Empty for one without a name. */
  of({ key, project, pipeline }: Pick<Chunk, 'key' | 'project' | 'pipeline'>): string {
    const name = foldedName(pipeline.facts)
    if (name === '') return ''
    const its = `${key.instance} ${project.id}`
    let names = this.#known.get(its)
    if (names === undefined) {
      if (this.#known.size >= mostProjects) this.#known.clear()
      this.#known.set(its, (names = new Set()))
    }
    if (names.size < mostNames) names.add(name)
    return names.has(name) ? name : ''
  }
}
