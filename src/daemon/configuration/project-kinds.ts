// Kinds of settings that name projects and groups: by their IDs or full paths, or by patterns of full paths.
import { listOf, patterns } from './list-kinds.ts'
import { quoted, type Wrong } from './config-fault.ts'
import { scalar, wrong, type Kind } from './kind.ts'

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
export const projectName: Kind<string> = scalar<string>({
  noun: 'the full path of a project or group',
  remedy: 'Write its full path, such as team/shop.',
  read: text => wrongPath(text) ?? text,
})

/** IDs and full paths. `or`: another word that may be among them, such as `*`. */
export function projectNames({ or }: { readonly or?: string } = {}): Kind<readonly string[]> {
  return listOf<string>({
    noun: 'a list of IDs and full paths',
    read: value => {
      const fault = value.map(item => (item === or ? undefined : wrongPath(item))).find(one => one !== undefined)
      return fault === undefined ? { value } : { wrong: fault }
    },
  })
}

/** Patterns of full paths. One that no path can match would hide, choose or exclude nothing. */
export const projectPatterns: Kind<readonly string[]> = {
  ...patterns,
  noun: 'a list of patterns of full paths',
  parse: raw => {
    const parsed = patterns.parse(raw)
    const bad = 'value' in parsed ? parsed.value.find(isOfNoPath) : undefined
    if (bad === undefined) return parsed
    return wrong(`${quoted(bad)} matches no full path.`, remedyFor(bad, 'such as team/shop or team/**'))
  },
}

function isOfNoPath(pattern: string): boolean {
  return /:\/\/|%2f|^\/|(?:^|\/)\.\.?(?:\/|$)/i.test(pattern) || /[^\\]\/$/.test(pattern)
}
