// The payload of a merge request event, and a merge request of the simulated platform.
import { wireProject, wireTime, wireUser } from './wire-words.ts'
import type { SimProject, SimUser } from './world.ts'

export type ChangeAction = 'open' | 'update' | 'approval' | 'approved' | 'unapproved' | 'close' | 'reopen' | 'merge'

export interface SimChange {
  readonly id: number
  readonly iid: number
  readonly project: SimProject
  readonly title: string
  readonly sourceBranch: string
  readonly targetBranch: string
  readonly createdAt: number
  state: 'opened' | 'closed' | 'merged'
}

export function changePayload(
  { id, iid, project, title, sourceBranch, targetBranch, createdAt, state }: SimChange,
  { action, at, user }: { readonly action: ChangeAction; readonly at: number; readonly user: SimUser },
  instance: string,
): object {
  return {
    object_kind: 'merge_request',
    event_type: 'merge_request',
    user: wireUser(user),
    project: wireProject(project, instance),
    object_attributes: {
      ...{ id, iid, title, state, action, author_id: user.id },
      description: '',
      source_branch: sourceBranch,
      target_branch: targetBranch,
      source_project_id: project.id,
      target_project_id: project.id,
      created_at: wireTime(createdAt),
      updated_at: wireTime(at),
      draft: title.startsWith('Draft:'),
      work_in_progress: title.startsWith('Draft:'),
      url: `${instance}/${project.path}/-/merge_requests/${iid}`,
    },
    labels: [],
    changes: {},
  }
}
