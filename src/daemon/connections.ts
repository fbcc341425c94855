// Connects to the platforms: one connection for each token, with its own client and budget.
import { createHash } from 'node:crypto'
import { connectPlatform, type Platform } from './platform.ts'
import { territoriesOf, type Territory } from '../model/territory.ts'
import { normalizeInstance, type ByInstance } from '../model/instance.ts'
import { defaultPlatform, platformViews, viewedPlatform, type PlatformView } from './configuration/platforms.ts'
import type { ProfileName } from './profile.ts'
import type { PlatformOf } from '../lib/chooser.ts'
import type { Config } from './configuration/options.ts'

export interface Connection extends Platform, PlatformView<ProfileName> {
  /** The territory of the token: the runs that are requested with it. */
  readonly territory: Territory
  /**
   * The key under which facts about this token are stored: the instance and, for a token limited to certain groups, a digest of the groups. It is a
   * digest because pages may not be allowed to name the groups.
   */
  readonly scope: string
}

/** Creates one connection per token. Throws ConfigError. */
export function connectPlatforms(
  config: Config<ProfileName>,
  ...shared: Parameters<typeof connectPlatform> extends [unknown, ...infer Rest] ? Rest : never
): Connection[] {
  const found = platformViews(config).flatMap(view => {
    const platform = connectPlatform(view, ...shared)
    return platform === undefined ? [] : [{ ...view, ...platform }]
  })
  const ofPlatforms = Map.groupBy(found, ({ platform }) => platform)
  return [...ofPlatforms.values()].flatMap(tokens => {
    const territories = territoriesOf(
      tokens[0]?.client.instance ?? '',
      tokens.map(({ groups }) => groups),
    )
    return tokens.map((token, index) => {
      const { instance } = token.client
      return {
        ...token,
        scope: scopeOf(instance, token.groups),
        territory: territories[index] ?? { instance, parts: [] },
      }
    })
  })
}

function scopeOf(instance: string, groups: readonly string[]): string {
  if (groups.length === 0) return instance
  const digest = createHash('sha256').update(groups.toSorted().join()).digest('hex').slice(0, 8)
  return `${instance} (groups ${digest})`
}

/** Returns the profile of an instance. An instance that is not configured gets the profile of the first platform. */
export function profileBy<P extends string>(config: Config<P>): ByInstance<P> {
  const views = platformViews(config)
  const first = views[0]?.config.platform.profile ?? config.platform.profile
  if (views.length === 1) return first
  const byInstance = new Map(views.map(view => [normalizeInstance(view.config.platform.url), view.config]))
  return instance => byInstance.get(instance)?.platform.profile ?? first
}

/** Returns the platform's name by instance. An instance that is not configured gets the name of the only platform, or none if there are several. */
export function platformNames<P extends string>(config: Config<P>): PlatformOf {
  const viewed = viewedPlatform(config)
  if (viewed !== undefined) return () => viewed
  const views = platformViews(config)
  const byInstance = new Map(views.map(view => [normalizeInstance(view.config.platform.url), view.platform]))
  const [first] = views
  const only = new Set(views.map(({ platform }) => platform)).size === 1 ? first?.platform : undefined
  return instance => byInstance.get(instance) ?? only
}

export interface NamedProject {
  readonly path: string
  readonly instance: string
  /** The path. If there are several platforms, it begins with the platform's name. */
  readonly name: string
}

/**
 * Parses a project as people write it, such as `team/shop` or `cloud:team/shop`. Without a platform's name, it may be a project of each platform. The
 * result is empty if there is no platform of that name.
 */
export function namedProjects<P extends string>(config: Config<P>, text: string): NamedProject[] {
  const [, named, path = text] = /^([^/:]+):(.*)$/.exec(text) ?? []
  const urls = new Map(platformViews(config).map(view => [view.platform, view.config.platform.url]))
  return [...urls]
    .filter(([platform]) => named === undefined || platform.toLowerCase() === named.toLowerCase())
    .map(([platform, url]) => ({
      ...{ path, instance: normalizeInstance(url) ?? '' },
      name: urls.size === 1 ? path : `${platform}:${path}`,
    }))
}

export function leaseOf(work: string, connection: string): string {
  return connection === defaultPlatform ? work : `${work} ${connection}`
}

/** Returns the log field with the platform's name. */
export function ofConnection(name: string): { readonly platform?: string } {
  return name === defaultPlatform ? {} : { platform: name }
}
