// Which kind of ref a pipeline ran for: what is usual on a merge request is not what is usual on the default branch. Pure.
import type { PipelineFacts, ProjectFacts } from './observation.ts'

export const branchClasses = ['default', 'merge_request', 'tag', 'other'] as const
export type BranchClass = (typeof branchClasses)[number]

/** `other`: a branch that is not the default one, or whose project's default branch is not known. */
export function branchClassOf(
  { ref = '', source, tag, mergeRequest }: Pick<PipelineFacts, 'ref' | 'source' | 'tag' | 'mergeRequest'>,
  { defaultBranch }: Pick<ProjectFacts, 'defaultBranch'>,
): BranchClass {
  if (source === 'merge_request_event' || mergeRequest !== undefined || ref.startsWith('refs/merge-requests/')) {
    return 'merge_request'
  }
  if (tag === true) return 'tag'
  return ref !== '' && ref === defaultBranch ? 'default' : 'other'
}
