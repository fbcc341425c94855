// The names of hidden projects in texts of all kinds: titles, links, what a backend or the platform said. Pure.

/** In place of a word that names a hidden project. */
const instead = '[hidden]'
/** Words whose verdict is remembered: most pages show the same ones again and again. */
const remembered = 20_000

export interface HiddenWords {
  /** Whether a text names a hidden project: by its path, or by an address below it. */
  names(text: string): boolean
  /** The same value, however deep, with such words blotted out of its texts. */
  without<T>(value: T): T
}

/** A word as paths and addresses are written; what else may stand around or between them ends it. */
const word = /[^\s"'`´<>()[\]{}|\\,;:!?#&=@*…]+/gu

export function createHiddenWords(isHidden: (path: string) => boolean): HiddenWords {
  const verdicts = new Map<string, boolean>()

  function isNamed(text: string): boolean {
    if (!text.includes('/') && !text.includes('%2')) return false
    const known = verdicts.get(text)
    if (known !== undefined) return known
    const verdict = pathsIn(text).some(isHidden)
    if (verdicts.size >= remembered) verdicts.clear()
    verdicts.set(text, verdict)
    return verdict
  }

  const cleaned = (text: string): string => text.replace(word, found => (isNamed(found) ? instead : found))

  function clean(value: unknown): unknown {
    if (typeof value === 'string') return cleaned(value)
    if (Array.isArray(value)) return value.map(clean)
    if (value instanceof Map)
      return new Map([...(value as Map<unknown, unknown>)].map(([key, one]) => [key, clean(one)]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [cleaned(key), clean(one)]))
  }

  return {
    names: text => (text.match(word) ?? []).some(isNamed),
    without: value => clean(value) as typeof value,
  }
}

/**
 * The paths that a word may stand for. Of an address what follows the host, also below a relative root, up to the platform's
 * own part, `/-/…`; whatever is percent-encoded as one, as in `/projects/team%2Fshop/pipelines`.
 */
function pathsIn(text: string): string[] {
  const plain = decoded(text)
  const [head = ''] = plain.split('/-/', 1)
  const path = head.replace(/^\/\/[^/]*/, '').replace(/^\/+|(\.git)?[/.]*$/g, '')
  const below = path.includes('/') && plain.startsWith('//') ? [path.slice(path.indexOf('/') + 1)] : []
  const encoded = text.split('/').filter(part => /%2f/i.test(part))
  return [path, ...below, ...encoded.map(decoded)].filter(one => one.includes('/'))
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
