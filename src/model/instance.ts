// Determines the platform instance that a pipeline belongs to. Its normalised base URL is half of every run's key and is hashed into its IDs.
// Settings may differ between instances.

/**
 * Normalises an instance's base URL: `HTTPS://CI.example.com:443/ci/` becomes `https://ci.example.com/ci`. Returns undefined if the string is not an
 * http(s) URL.
 */
export function normalizeInstance(url: string | undefined): string | undefined {
  const parsed = URL.parse(url?.trim() ?? '')
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') return undefined
  return parsed.origin + parsed.pathname.replace(/\/+$/, '')
}

/** The origin of a project's web URL. It is used if neither the delivery nor the configuration names the instance. */
export function instanceOfProject(webUrl: string | undefined): string | undefined {
  return normalizeInstance(URL.parse(webUrl ?? '')?.origin)
}

/**
 * Determines the instance that a payload belongs to:
 *
 * 1. The instance in the delivery's `header`, if the project's URL confirms it. The header is not signed, so the project's URL must be the header's
 *    URL followed by the project's `path`.
 * 2. Otherwise the `configured` instance.
 * 3. Otherwise the origin of the project's URL.
 *
 * A payload without a project URL belongs to the configured instance, or else to the one in the header.
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

/** A value that is the same for all platform instances, or a function that returns the value for a given instance. */
export type ByInstance<T extends object | string> = T | ((instance: string) => T)

export function ofInstance<T extends object | string>(setting: ByInstance<T>, instance: string): T {
  return isFunction(setting) ? setting(instance) : setting
}

function isFunction<T extends object | string>(setting: ByInstance<T>): setting is (instance: string) => T {
  return typeof setting === 'function'
}
