// Kinds of settings that name projects and groups: by their IDs or full paths, or by patterns of full paths.
import { z } from 'zod'
import { kind, line, refusing, type Kind } from './kind.ts'
import { listOf, patternsOf } from './list-kinds.ts'
import { quoted, type Wrong } from './config-fault.ts'

/** What is wrong with the ID or full path of a project or group; undefined if nothing is. No other text can name one in a request. */
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

/** One project or group. */
export const projectName = kind(line.superRefine(refusing(wrongPath)), {
  noun: 'the full path of a project or group',
  remedy: 'Write its full path, such as team/shop.',
})

/** IDs and full paths. `or`: another word that may be among them, such as `*`. */
export function projectNames({ or }: { readonly or?: string } = {}): Kind<readonly string[]> {
  const one = z.string().superRefine(refusing(item => (item === or ? undefined : wrongPath(item))))
  return listOf(one, { noun: 'a list of IDs and full paths' })
}

/** Patterns of full paths. One that no path can match would hide, choose or exclude nothing. */
export const projectPatterns = patternsOf('full paths', one =>
  isOfNoPath(one)
    ? { what: `${quoted(one)} matches no full path.`, remedy: remedyFor(one, 'such as team/shop or team/**') }
    : undefined,
)

function isOfNoPath(pattern: string): boolean {
  return /:\/\/|%2f|^\/|(?:^|\/)\.\.?(?:\/|$)/i.test(pattern) || /[^\\]\/$/.test(pattern)
}
