// The names under which trends count the pipelines of a project. Their number is limited, as each makes rows of its own.
import { foldedName } from '../ports/pipeline-name.ts'
import type { Chunk } from '../../../model/chunk.ts'

/** Names of one project. Pipelines with further names are counted without one. */
export const maxNames = 20
const maxProjects = 10_000

export class PipelineNames {
  readonly #known = new Map<string, Set<string>>()

  /** Empty for a pipeline without a name. */
  of({ key, project, pipeline }: Pick<Chunk, 'key' | 'project' | 'pipeline'>): string {
    const name = foldedName(pipeline.facts)
    if (name === '') return ''
    const its = `${key.instance} ${project.id}`
    let names = this.#known.get(its)
    if (names === undefined) {
      if (this.#known.size >= maxProjects) this.#known.clear()
      this.#known.set(its, (names = new Set()))
    }
    if (names.size < maxNames) names.add(name)
    return names.has(name) ? name : ''
  }
}
