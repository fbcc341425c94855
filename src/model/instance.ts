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

/**
 * Which instance a payload belongs to. `header`: what the delivery's unsigned header says, believed only where the payload bears
 * it out: the project's URL lies below it, and where the project's path is known, exactly so far below it. Then the `configured`
 * one, then the origin of the project's URL. Where the payload has no project URL, the configured instance is taken, then the header.
 */
export function instanceOfPayload(payload: {
  readonly header: string | undefined
  readonly configured: string | undefined
  readonly webUrl: string | undefined
  readonly path: string | undefined
}): string | undefined {
  const header = payload.header === undefined ? undefined : normalizeInstance(payload.header)
  const configured = payload.configured === undefined ? undefined : normalizeInstance(payload.configured)
  const project = payload.webUrl === undefined ? undefined : normalizeInstance(payload.webUrl)
  if (project === undefined) return configured ?? header
  if (header !== undefined && isBorneOut(header, project, payload.path)) return header
  return configured ?? instanceOfProject(project)
}

function isBorneOut(instance: string, project: string, path: string | undefined): boolean {
  if (!project.startsWith(`${instance}/`)) return false
  return path === undefined || !project.endsWith(`/${path}`) || project === `${instance}/${path}`
}
