// Folds refs for metrics, because a series for each ref is expensive in many backends.
import { globs } from '../../lib/chooser.ts'
import type { PipelineFacts, ProjectFacts } from '../../model/observation.ts'

/** The refs that keep their names. `branches`: all except those of merge requests; `all`: these too; `default`: the default branch; or globs. */
export type MetricRefs = 'branches' | 'all' | 'default' | readonly string[]

/** Replaces all refs of merge requests. No real ref contains a `*` (git-check-ref-format). */
export const mergeRequestRefs = 'refs/merge-requests/*'
/** Replaces other refs that are folded. */
export const otherRefs = '*'

export type FoldRef = (chunk: {
  readonly pipeline: { readonly facts: Pick<PipelineFacts, 'ref' | 'source' | 'tag'> }
  readonly project: ProjectFacts
}) => string

export function refFolder(refs: MetricRefs): FoldRef {
  const isKept = keeperOf(refs)
  return ({ pipeline, project }) => {
    const { ref = '', source } = pipeline.facts
    if (refs === 'all') return ref
    if (source === 'merge_request_event' || ref.startsWith('refs/merge-requests/')) return mergeRequestRefs
    return isKept(ref, pipeline.facts.tag === true ? undefined : project.defaultBranch) ? ref : otherRefs
  }
}

/** The branches of a change, folded; the source branch as merge request refs are. */
export function changeRefs(
  { head = '', base = '' }: { readonly head?: string | undefined; readonly base?: string | undefined },
  project: ProjectFacts,
  foldRef: FoldRef,
): { head: string; base: string } {
  const fold = (ref: string, source: string): string => foldRef({ pipeline: { facts: { ref, source } }, project })
  return { head: fold(head, 'merge_request_event'), base: fold(base, 'push') }
}

function keeperOf(refs: MetricRefs): (ref: string, defaultBranch: string | undefined) => boolean {
  if (refs === 'branches' || refs === 'all') return () => true
  if (refs === 'default') return (ref, defaultBranch) => ref === defaultBranch
  return globs(refs)
}
