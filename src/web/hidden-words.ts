// Removes the names of hidden projects from texts of all kinds: titles, links, messages of backends or the platform. Pure.

/** Replaces a word that names a hidden project. */
const instead = '[hidden]'
/** How many words are cached with whether they are hidden: pages show the same ones again and again. */
const remembered = 20_000

interface HiddenWords {
  /** Whether a text has the path of a hidden project, or a URL below it. */
  names(text: string): boolean
  /** A copy of the value in which such words are replaced in all texts, however deeply nested. */
  without<T>(value: T): T
}

/** A run of characters that paths and URLs may consist of. */
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
 * The project paths that a word may contain. In a URL: what follows the host, with and without the first segment (which may be a
 * relative root), up to `/-/…`, where the platform's own paths begin; and percent-encoded segments as in
 * `/projects/team%2Fshop/pipelines`.
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
