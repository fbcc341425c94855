// Turns the payload of a webhook event into the exported event, as defined by the table of events. The reader is tolerant: unknown fields are
// accepted, an attribute of the wrong type is omitted, and only the fields that identify the event are required. E-mail addresses, descriptions and
// comments are dropped here.
import { createHash } from 'node:crypto'
import { canonical } from '../../model/versioned.ts'
import { first, oneLine, readWord, type EventAttribute, type Path } from './event-fields.ts'
import { instanceOf, pathOf, type HookContext } from './hook-project.ts'
import { anyKnown, knownOf } from '../../model/versioned.ts'
import { redactedTo, type RedactText } from '../../lib/text-redaction.ts'
import { PayloadError } from '../../lib/fault.ts'
import {
  maxText,
  readId,
  readText,
  readTime,
  readUrl,
  readCount,
  readObject,
  readTexts,
  type WireObject,
} from '../wire-read.ts'
import { redact } from '../../lib/secret.ts'
import type { EventRow } from './event-table.ts'
import type { EventTimes, EventValue, PlatformEvent } from '../../model/event.ts'
import type { ProjectFacts } from '../../model/observation.ts'

const projectPaths = {
  id: 'project.id|project_id|object_attributes.project_id',
  name: 'project.name|project_name',
  path: 'project.path_with_namespace|project_path_with_namespace|path_with_namespace',
  webUrl: 'project.web_url|project.homepage',
  defaultBranch: 'project.default_branch',
} as const
const groupPath: Path = 'group.full_path|group.group_path|group.path|group_full_path|full_path|group_path'
/** Fields that contain a URL within a project. The project's own URL is the part before `/-/`. */
const withinProject: Path = 'object_attributes.url|url|deployable_url'

/** The platform's profile, and how strings are redacted. */
export interface EventWords {
  readonly profile: { readonly provider: string }
  readonly redactText: RedactText
}

/** Reads a webhook event. Throws a PayloadError that names the missing fields. */
export function readEvent(row: EventRow, json: WireObject, context: HookContext, words: EventWords): PlatformEvent {
  const missing = row.object.filter(path => first(json, path, readWord) === undefined)
  if (missing.length > 0) throw unusable(row, `no usable ${missing.map(inWords).join(', ')}`)
  const named = projectOf(row, json)
  const instance = instanceOf(context, named ?? {})
  const path = named?.path ?? pathOf(named?.webUrl, instance)
  const project = named && { ...named, ...(path !== undefined && { path }) }
  const attributes = attributesOf(row.attributes, json, words)
  const at = row.time === undefined ? undefined : first(json, row.time, readTime)
  const identity = [instance, row.word, ...row.object.map(path => first(json, path, readWord))]
  const group = project === undefined ? first(json, groupPath, readText) : undefined
  const isDistinct = row.version !== undefined && (row.time === undefined || at !== undefined)
  // The event's key contains the time in whole seconds, because webhooks round times down and other sources do not.
  const version = row.version?.map(path => first(json, path, readWord) ?? null) ?? []
  const seconds = at === undefined ? null : Math.floor(at / 1_000)
  return {
    instance,
    kind: row.word,
    name: row.name,
    ...knownOf({ at, times: timesOf(row, json), project, group, labels: labelsOf(row, json, context) }),
    ...(row.word === 'push' && touchesCi(json) && { touchesCi: true }),
    severity: row.severity?.(attributes) ?? 'info',
    body: oneLine(row.body(key => String(attributes[key] ?? ''))),
    attributes,
    object: digest(identity),
    ...(isDistinct && { key: digest([...identity, seconds, ...version]) }),
    content: digest(json),
  }
}

/** Only merge request events have labels. */
function labelsOf({ word }: EventRow, { labels }: WireObject, { wanted }: HookContext): PlatformEvent['labels'] {
  return word === 'change' ? wanted?.labels(labels) : undefined
}

function timesOf({ times }: EventRow, json: WireObject): EventTimes | undefined {
  if (times === undefined) return undefined
  const [createdAt, endedAt] = [times.createdAt, times.endedAt].map(path => first(json, path, readTime))
  return anyKnown({ createdAt, endedAt })
}

export function attributesOf(
  attributes: readonly EventAttribute[],
  json: WireObject,
  { profile, redactText }: EventWords,
): Record<string, EventValue> {
  const found: Record<string, EventValue> = {}
  for (const { key, read, isFree } of attributes) {
    const given = read(json, profile)
    const clean = typeof given === 'string' ? cleaned(given, isFree === true, redactText) : given
    if (clean !== undefined && clean !== '') found[key] = clean
  }
  return found
}

/** Redacts a string in an event. In free text written by people, secrets of this process are redacted, too. */
export function cleaned(words: string, isFree: boolean, redactText: RedactText): string {
  return oneLine(redactedTo(maxText, isFree ? redact(words) : words, redactText))
}

function projectOf({ word }: EventRow, json: WireObject): ProjectFacts | undefined {
  const id = first(json, projectPaths.id, readId)
  if (id === undefined) return undefined
  const address = first(json, withinProject, readUrl)
  const [within] = address?.includes('/-/') === true ? address.split('/-/') : []
  return {
    id,
    ...knownOf({
      name: first(json, word === 'project' ? `${projectPaths.name}|name` : projectPaths.name, readText),
      path: first(json, projectPaths.path, readText),
      webUrl: first(json, projectPaths.webUrl, readUrl) ?? within,
      defaultBranch: first(json, projectPaths.defaultBranch, readText),
    }),
  }
}

function inWords(path: Path): string {
  return path.replaceAll('|', ' or ')
}

/** Returns a hash of the fields that identify an event. */
export function digest(identity: unknown): string {
  return createHash('sha256').update(canonical(identity)).digest('base64url')
}

/** Creates an error that names fields but never their values. */
function unusable({ word }: EventRow, why: string): PayloadError {
  return new PayloadError(
    `The ${word} event cannot be read: ${why}.`,
    "If its webhook has a custom template, remove it: only the platform's standard payload can be decoded.",
  )
}

/**
 * Whether a push may have changed the default branch's CI configuration (platform documentation on webhooks, "Push events"). True if it changed the CI
 * file or any other YAML file, because the CI file may include other files. Also true if the changed files are unknown: the payload has at most twenty
 * commits, and the commits of a large payload are not read.
 */
export function touchesCi(json: WireObject): boolean {
  const project = readObject(json.project)
  const branch = readText(project?.default_branch)
  if (branch === undefined || readText(json.ref) !== `refs/heads/${branch}`) return false
  const { commits } = json
  const count = readCount(json.total_commits_count) ?? Infinity
  if (!Array.isArray(commits) || commits.length < count) return true
  // If the project does not configure the path of its CI file, the file has its default name, which ends in `.yml`.
  const file = readText(project?.ci_config_path)?.split('@', 1)[0]
  return commits.some(commit => {
    const { added, modified, removed } = readObject(commit) ?? {}
    const files = [added, modified, removed].flatMap(list => readTexts(list) ?? [])
    return files.some(changed => changed === file || /\.ya?ml$/.test(changed))
  })
}
