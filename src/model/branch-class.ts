// The kind of ref that a pipeline ran for. Each has separate trends, because durations and failures differ between merge requests and the
// default branch. Pure.
import type { PipelineFacts, ProjectFacts } from './observation.ts'

export const branchClasses = ['default', 'merge_request', 'tag', 'other'] as const
export type BranchClass = (typeof branchClasses)[number]

/** `other`: any other branch, and every branch of a project whose default branch is unknown. */
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
