// Recognises the address of a hook whose URL has masked parts: the platform shows `https://ci.example.com/{path}` and never the text that `{path}`
// replaces.

const masked = '\0'

/**
 * Whether the hook's URL has masked parts and may be `wanted`. Either the host or the path must be shown without masks, because otherwise every hook
 * would match.
 */
export function maybeAt(url: string, urlVariables: readonly string[], wanted: string): boolean {
  const template = url.replaceAll(/\{([^{}]{1,255})\}/g, (whole, name: string) =>
    urlVariables.includes(name) ? masked : whole,
  )
  const [shown, asked] = [parted(template), parted(wanted)]
  if (!template.includes(masked) || shown === undefined || asked === undefined) return false
  if (shown.origin.includes(masked) && shown.path.includes(masked)) return false
  return (
    matches(shown.origin.toLowerCase().split(masked), asked.origin.toLowerCase()) &&
    matches(shown.path.split(masked), asked.path)
  )
}

function parted(url: string): { readonly origin: string; readonly path: string } | undefined {
  const [, origin, path] = /^(https?:\/\/[^/]+)(.*?)\/*$/i.exec(url) ?? []
  return origin === undefined || path === undefined ? undefined : { origin, path }
}

/** Whether the text consists of these parts in order, with at least one character between two of them. */
function matches(parts: readonly string[], text: string): boolean {
  const [first = '', ...others] = parts
  const last = others.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  for (const part of others) {
    const found = text.indexOf(part, at + 1)
    if (found === -1) return false
    at = found + part.length
  }
  return text.length - last.length > at
}
