// Building blocks for the table of events: paths of fields in a payload, attributes that are read from these fields, and computed values.
import {
  maxText,
  readFlag,
  readId,
  readLongText,
  readObject,
  readText,
  readUrl,
  type Read,
  type WireObject,
} from '../wire-read.ts'
import type { EventValue } from '../../model/event.ts'

/**
 * Path of a field in a payload, such as `object_attributes.iid`. If there are several paths, separated by `|`, the first one whose field has a value
 * is used.
 */
export type Path = string

export interface EventAttribute {
  /** The attribute's name, either from the semantic conventions or a vendor-specific one that begins with `platform.`. */
  readonly key: string
  readonly type: 'string' | 'int' | 'bool'
  /** The fields from which the attribute is read; undefined if there are none. */
  readonly from: Path | undefined
  readonly note?: string | undefined
  /** True if the value is free text written by people, which may contain anything. */
  readonly isFree?: boolean | undefined
  readonly read: (json: WireObject, profile: { readonly provider: string }) => EventValue | undefined
}

/** An attribute whose value is a string or a number, exported as a string. */
export function text(key: string, from: Path, note?: string): EventAttribute {
  return { key, type: 'string', from, note, read: json => first(json, from, readLongWord) }
}

/** An attribute whose value is free text written by people. */
export function shown(key: string, from: Path, note?: string): EventAttribute {
  return { ...text(key, from, note), isFree: true }
}

export function id(key: string, from: Path, note?: string): EventAttribute {
  return { key, type: 'string', from, note, read: json => first(json, from, readId)?.toString() }
}

export function flag(key: string, from: Path, note?: string): EventAttribute {
  return { key, type: 'bool', from, note, read: json => first(json, from, readFlag) }
}

export function count(key: string, from: Path, note?: string): EventAttribute {
  return { key, type: 'int', from, note, read: json => first(json, from, readWhole) }
}

/** An attribute whose value is computed. */
export function value(
  key: string,
  type: EventAttribute['type'],
  from: Path | undefined,
  note: string,
  read: EventAttribute['read'],
): EventAttribute {
  return { key, type, from, note, read }
}

/** Returns the value of the first field in `path` that has a valid value. */
export function first<T>(json: WireObject, path: Path, read: Read<T>): T | undefined {
  for (const one of path.split('|')) {
    const found = read(at(json, one.split('.')))
    if (found !== undefined) return found
  }
  return undefined
}

export const readWord: Read<string> = found =>
  typeof found === 'number' && Number.isFinite(found) ? String(found) : readText(found)

/** Reads a string or a number as a string. More characters than the limit are kept, because the string is redacted before it is truncated. */
export const readLongWord: Read<string> = found => (typeof found === 'string' ? readLongText(found) : readWord(found))

export function oneLine(words: string): string {
  return words
    .slice(0, maxText)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .toWellFormed()
}

const readWhole: Read<number> = found =>
  Number.isSafeInteger(found) && (found as number) >= 0 ? (found as number) : undefined

function at(json: WireObject, path: readonly string[]): unknown {
  let found: unknown = json
  for (const field of path) {
    const object = readObject(found)
    if (object === undefined || !Object.hasOwn(object, field)) return undefined
    found = object[field]
  }
  return found
}

/** Returns a deployment's outcome. The semantic conventions have two values for a finished deployment. */
export function deploymentOutcome({ status }: WireObject): string | undefined {
  return status === 'success' ? 'succeeded' : status === 'failed' ? 'failed' : undefined
}

/** Returns the full revision, taken from the end of the commit's URL. */
export function revisionOf({ commit_url: url, short_sha: short }: WireObject): string | undefined {
  const [, whole] = /\/([0-9a-f]{40}|[0-9a-f]{64})$/.exec(readUrl(url) ?? '') ?? []
  return whole ?? readText(short)
}

/** Returns the state of a change as a value of the semantic conventions. Unknown states are returned unchanged. */
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

/** Returns a revision; undefined if it is all zeros, which stands for no revision. */
export function tipOf(revision: unknown): string | undefined {
  const text = readText(revision)
  return text === undefined || /^0+$/.test(text) ? undefined : text
}

export function tipAction({ before, after }: WireObject): string | undefined {
  if (readText(before) === undefined || readText(after) === undefined) return undefined
  if (tipOf(before) === undefined) return 'created'
  return tipOf(after) === undefined ? 'deleted' : 'updated'
}
