// Which platform a pipeline belongs to: the normalised base URL that is half of every run's key and part of its ids.

/**
 * Normalises an instance's base URL: lower-case scheme and host, no default port, no trailing slash, no query; a relative
 * root (`/ci`) stays. Returns undefined for what is no http(s) URL.
 */
export function normalizeInstance(url: string): string | undefined {
  let parsed: URL
  try {
    parsed = new URL(url.trim())
  } catch {
    return undefined
  }
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return undefined
  return parsed.origin + parsed.pathname.replace(/\/+$/, '')
}

/** The origin of a project's web URL, the last resort when neither the delivery nor the configuration names the instance. */
export function instanceOfProject(webUrl: string | undefined): string | undefined {
  if (webUrl === undefined) return undefined
  try {
    return normalizeInstance(new URL(webUrl).origin)
  } catch {
    return undefined
  }
}
