// Computed values of events.
import { first } from './event-fields.ts'
import { readFlag, readLongText, readText, readUrl, type WireObject } from '../wire-read.ts'

/** The conventions have two values for a finished deployment. */
export function deploymentOutcome({ status }: WireObject): string | undefined {
  return status === 'success' ? 'succeeded' : status === 'failed' ? 'failed' : undefined
}

/** The commit's URL ends in the full revision. */
export function revisionOf({ commit_url: url, short_sha: short }: WireObject): string | undefined {
  const [, whole] = /\/([0-9a-f]{40}|[0-9a-f]{64})$/.exec(readUrl(url) ?? '') ?? []
  return whole ?? readText(short)
}

/** The conventions' value; unknown states pass through. */
export function changeState(json: WireObject): string | undefined {
  const state = first(json, 'object_attributes.state', readText)
  if (state === 'locked') return 'wip'
  if (state !== 'opened') return state
  return first(json, 'object_attributes.draft|object_attributes.work_in_progress', readFlag) === true ? 'wip' : 'open'
}

export function refName({ ref }: WireObject): string | undefined {
  return readLongText(ref)?.replace(/^refs\/(?:heads|tags)\//, '')
}

export function refType({ ref, object_kind: kind }: WireObject): string {
  return kind === 'tag_push' || readText(ref)?.startsWith('refs/tags/') === true ? 'tag' : 'branch'
}

/** A revision; undefined if it is all zeros, which means none. */
export function tipOf(revision: unknown): string | undefined {
  const text = readText(revision)
  return text === undefined || /^0+$/.test(text) ? undefined : text
}

export function tipAction({ before, after }: WireObject): string | undefined {
  if (readText(before) === undefined || readText(after) === undefined) return undefined
  if (tipOf(before) === undefined) return 'created'
  return tipOf(after) === undefined ? 'deleted' : 'updated'
}
