// Which platform a pipeline belongs to: the normalised base URL that is half of every run's key and part of its ids; and settings that may differ
// between platforms.

/**
 * Normalises an instance's base URL: `HTTPS://CI.example.com:443/ci/` is `https://ci.example.com/ci`. Undefined for what is no
 * http(s) URL.
 */
export function normalizeInstance(url: string | undefined): string | undefined {
  const parsed = URL.parse(url?.trim() ?? '')
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') return undefined
  return parsed.origin + parsed.pathname.replace(/\/+$/, '')
}

/** The origin of a project's web URL, the last resort when neither the delivery nor the configuration names the instance. */
export function instanceOfProject(webUrl: string | undefined): string | undefined {
  return normalizeInstance(URL.parse(webUrl ?? '')?.origin)
}

/**
 * Which instance a payload belongs to. The delivery's `header` is not signed, so it counts only if the project's URL confirms it: the
 * URL must be the header's followed by the project's `path`. Else the `configured` one counts, else the origin of the project's URL. A
 * payload without a project URL belongs to the configured instance, else to that of the header.
 */
export function instanceOfPayload(payload: {
  readonly header: string | undefined
  readonly configured: string | undefined
  readonly webUrl: string | undefined
  readonly path: string | undefined
}): string | undefined {
  const header = normalizeInstance(payload.header)
  const configured = normalizeInstance(payload.configured)
  const project = normalizeInstance(payload.webUrl)
  if (project === undefined) return configured ?? header
  if (header !== undefined && isConfirmed(header, project, payload.path)) return header
  return configured ?? instanceOfProject(project)
}

function isConfirmed(instance: string, project: string, path: string | undefined): boolean {
  if (!project.startsWith(`${instance}/`)) return false
  return path === undefined || !project.endsWith(`/${path}`) || project === `${instance}/${path}`
}

/** A value that is the same for all platforms, or a function that returns it for an instance. */
export type ByInstance<T extends object | string> = T | ((instance: string) => T)

export function ofInstance<T extends object | string>(setting: ByInstance<T>, instance: string): T {
  return isFunction(setting) ? setting(instance) : setting
}

function isFunction<T extends object | string>(setting: ByInstance<T>): setting is (instance: string) => T {
  return typeof setting === 'function'
}
