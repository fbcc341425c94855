// Checks whether a value computed by the platform, such as a query result, names a hidden project by its path, a reference, or a URL. Pure.

/** A sequence of characters that may occur in paths and URLs. */
const word = /[^\s"'`´<>()[\]{}|\\,;:!?#&=@*…]+/gu

export function namesAny(text: string, isHidden: (path: string) => boolean): boolean {
  if (!text.includes('/') && !text.includes('%2')) return false
  return (text.match(word) ?? []).some(found => pathsIn(found).some(isHidden))
}

/**
 * Returns the project paths that a string without white space may contain. In a URL, the path is taken from the part after the host, with and without
 * the first segment (which may be a relative root), up to `/-/…`, where the platform's own paths begin. Percent-encoded segments, as in
 * `/projects/team%2Fshop/pipelines`, are also decoded.
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
