// Setting types that identify projects and groups by ID, by full path, or by patterns of full paths. Also the options that select projects by
// patterns.
import { z } from 'zod'
import { kind, line, refusing, type Kind } from './kind.ts'
import { listOf, patternsOf, patterns } from './list-kinds.ts'
import { quoted, type Wrong } from './config-fault.ts'
import { setting } from './option.ts'

/** Returns what is wrong with the ID or full path of a project or group; undefined if it is valid. API requests accept no other identifiers. */
export function wrongPath(text: string): Wrong | undefined {
  if (/^\d+$/.test(text) || isPath(text)) return undefined
  return {
    what: `${quoted(text)} is neither an ID nor a full path.`,
    remedy: remedyFor(text, 'such as team/shop', '; or its ID'),
  }
}

function isPath(text: string): boolean {
  return text.split('/').every(part => /^[\p{L}\p{N}_.+-]+$/u.test(part) && !/^\.\.?$/.test(part))
}

function remedyFor(text: string, example: string, otherwise = ''): string {
  if (text.includes('://')) return `Write its full path alone, without the platform's address, ${example}.`
  if (/%[\da-f]{2}/i.test(text)) return `Write its full path as it is, without percent signs, ${example}.`
  return `Write its full path, ${example}, without a slash at either end${otherwise}.`
}

/** The ID or full path of one project or group. */
export const projectName = kind(line.superRefine(refusing(wrongPath)), {
  noun: 'the full path of a project or group',
  remedy: 'Write its full path, such as team/shop.',
})

/** Creates a setting type for a list of IDs and full paths. `or` is an additional value to accept, such as `*`. */
export function projectNames({ or }: { readonly or?: string } = {}): Kind<readonly string[]> {
  const one = z.string().superRefine(refusing(item => (item === or ? undefined : wrongPath(item))))
  return listOf(one, { noun: 'a list of IDs and full paths' })
}

/** Patterns of full paths. A pattern that cannot match any path is a fault, because it would hide, select or exclude nothing. */
export const projectPatterns = patternsOf('full paths', one =>
  isOfNoPath(one)
    ? { what: `${quoted(one)} matches no full path.`, remedy: remedyFor(one, 'such as team/shop or team/**') }
    : undefined,
)

function isOfNoPath(pattern: string): boolean {
  return /:\/\/|%2f|^\/|(?:^|\/)\.\.?(?:\/|$)/i.test(pattern) || /[^\\]\/$/.test(pattern)
}

/**
 * Creates the options `include` and `exclude`, which are lists of patterns. `what` describes the strings that the patterns match. `note` is appended
 * to the descriptions; it starts with a space.
 */
export function choiceOf(what: string, note = '') {
  return {
    include: setting(patterns, { unset: 'all' }).describe(`Patterns of ${what}.${note}`),
    exclude: setting(patterns).describe(`Patterns of ${what} to exclude; overrides \`include\`.${note}`),
  }
}

/**
 * Creates the options `include` and `exclude` for projects. `protects` marks a selection that controls who may see what: a reload may not remove it,
 * nor any pattern of `exclude`. It may shorten `include`, because that reveals nothing to anyone.
 */
export function projectChoice(note = '', { protects }: { readonly protects?: true } = {}) {
  const what = 'full project paths'
  return {
    include: setting(projectPatterns, { unset: 'all', ...(protects && { protects }) }).describe(
      `Patterns of ${what}.${note}`,
    ),
    exclude: setting(projectPatterns, { ...(protects && { protects: 'each' as const }) }).describe(
      `Patterns of ${what} to exclude; overrides \`include\`.${note}`,
    ),
  }
}
