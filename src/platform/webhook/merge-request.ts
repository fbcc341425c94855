// Parses the merge request of a pipeline event.
import { readFlag, readId, readObject, readText, readTitle, readUrl, type Read } from '../wire-read.ts'
import { record } from './wire-record.ts'
import type { MergeRequest } from '../../model/observation.ts'

interface WireMergeRequest extends Omit<MergeRequest, 'fork'> {
  readonly sourceProjectId?: number | undefined
  /** Older platforms' field for a draft. */
  readonly workInProgress?: boolean | undefined
}

/** If one mark of a draft is null, another one may say more. */
const readSaid: Read<boolean> = value => (typeof value === 'boolean' ? value : undefined)

const readFields = record<WireMergeRequest>(['iid'], {
  id: ['id', readId],
  iid: ['iid', readId],
  title: ['title', readTitle],
  state: ['state', readText],
  draft: ['draft', readSaid],
  sourceBranch: ['source_branch', readText],
  targetBranch: ['target_branch', readText],
  url: ['url', readUrl],
  sourceProjectId: ['source_project_id', readId],
  targetProjectId: ['target_project_id', readId],
  workInProgress: ['work_in_progress', readSaid],
})

/** How the platform marks a draft in the title; most pipeline events have nothing else. */
const draftTitle = /^\s*(?:draft:|\[draft\]|\(draft\))/i

export const readMergeRequest: Read<MergeRequest> = value => {
  const read = readFields(value)
  if (read === undefined) return undefined
  const { sourceProjectId: source, targetProjectId: target, workInProgress, ...facts } = read
  const draft =
    facts.draft ?? workInProgress ?? (draftTitle.test(facts.title ?? '') || readFlag(readObject(value)?.draft))
  return {
    ...facts,
    ...(draft !== undefined && { draft }),
    ...(source !== undefined && target !== undefined && { fork: source !== target }),
    ...(source !== undefined && target !== undefined && source !== target && { targetProjectId: target }),
  }
}
