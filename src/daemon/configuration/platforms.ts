// The platforms and their tokens, each as a configuration of its own: as if this token of this platform were the only one. So nothing else knows that
// there may be several.
import type { Config } from './options.ts'

export interface PlatformView<P extends string = string> {
  /** `default` for the platform of `platform`. */
  readonly platform: string
  /** Unique; the name of the platform, or for a token for groups also the first group. */
  readonly name: string
  /** The groups whose projects the token is for; empty: all projects that no other token of the platform is for. */
  readonly groups: readonly string[]
  readonly config: Config<P>
}

type Listed<P extends string> = Config<P>['platforms'][number]

export const defaultPlatform = 'default'

/** Which platform the configuration of a view is of: as the only one of its configuration, it has no name there. */
const viewed = Symbol('platform')

/** The name of the platform that this configuration is a view of; undefined for a whole configuration. */
export function viewedPlatform<P extends string>(config: Config<P>): string | undefined {
  return (config as { readonly [viewed]?: string })[viewed]
}

/** The platform of `platform` first. The first view of each platform is that of its token without groups, which may be missing. */
export function platformViews<P extends string>(config: Config<P>): PlatformView<P>[] {
  const { platforms, queries } = config
  if (platforms.length === 0) return [{ ...named(defaultPlatform), config }]
  const own = queries.filter(({ platform = defaultPlatform }) => platform === defaultPlatform)
  const first = {
    ...named(defaultPlatform),
    config: { ...config, platforms: [], queries: own, [viewed]: defaultPlatform },
  }
  return [...(hasDefaultPlatform(config) ? [first] : []), ...platforms.flatMap(one => viewsOf(one, config))]
}

/** Whether the settings outside of `platforms` are those of a platform. */
export function hasDefaultPlatform({ platforms, platform }: Pick<Config, 'platforms' | 'platform'>): boolean {
  return platforms.length === 0 || platform.url !== undefined
}

function named(platform: string): Omit<PlatformView, 'config'> {
  return { platform, name: platform, groups: [] }
}

function viewsOf<P extends string>(listed: Listed<P>, config: Config<P>): PlatformView<P>[] {
  const { name: platform, url, profile, caFile, token, tokenType, budget, tokens, webhook } = listed
  const lists = listsOf(listed)
  const { projects = [], groups: polled = [], mine, crossProject } = listed.poll
  const all = [{ groups: [], token, tokenType, budget }, ...tokens]
  const queries = config.queries.filter(one => one.platform === platform)
  return all.map(({ groups, ...own }, index): PlatformView<P> => {
    const isOwn = (path: string): boolean => indexFor(path, tokens) === index
    const chosen = (paths: readonly string[] | undefined): readonly string[] | undefined => paths?.filter(isOwn)
    // A group that is polled as a part of a larger one is polled with its own token.
    const parts = groups.filter(
      group => !polled.some(one => isSame(one, group)) && polled.some(one => isIn(group, one)),
    )
    const poll = {
      ...{ ...config.poll, mine, projects: chosen(projects), groups: [...(chosen(polled) ?? []), ...parts] },
      crossProject: crossProject && projects.length + polled.length === 0,
    }
    return {
      ...{ platform, groups, name: index === 0 ? platform : `${platform}/${groups[0] ?? index}` },
      config: {
        ...{ ...config, platforms: [], webhook, poll, [viewed]: platform },
        platform: { ...{ url, profile, caFile }, ...own },
        ...chosenOf(lists, isOwn),
        queries: queries.filter(({ project, group }) => isOwn(project ?? group ?? '')),
      },
    }
  })
}

interface Lists {
  readonly [name: string]: readonly string[] | undefined | Lists
}

/** The other lists of projects and groups of a platform: those of the inventory and of features, by the names of their settings. */
function listsOf<P extends string>(listed: Listed<P>): Lists {
  const { name, url, profile, caFile, token, tokenType, budget, tokens, webhook, poll, ...lists } = listed
  return lists
}

function chosenOf(lists: Lists, isOwn: (path: string) => boolean): Lists {
  const chosen = Object.entries(lists).map(([name, list]): [string, Lists[string]] => {
    if (list === undefined) return [name, list]
    return [name, isList(list) ? list.filter(path => isOwn(pathOf(path))) : chosenOf(list, isOwn)]
  })
  return Object.fromEntries(chosen)
}

/** The projects and groups in them. */
export function pathsIn<P extends string>(listed: Listed<P>): readonly string[] {
  const flat = (lists: Lists): string[] =>
    Object.values(lists).flatMap(list => (list === undefined ? [] : isList(list) ? list.map(pathOf) : flat(list)))
  return flat(listsOf(listed))
}

function isList(list: readonly string[] | Lists): list is readonly string[] {
  return Array.isArray(list)
}

function pathOf(entry: string): string {
  return entry.replace(/^project:/, '')
}

/** The number of the token that is for a project or group: 0 for the one without groups. IDs, and the whole instance, are of that one. */
function indexFor(path: string, tokens: readonly { readonly groups: readonly string[] }[]): number {
  const matches = tokens.flatMap(({ groups }, index) =>
    groups.filter(group => isIn(path, group)).map(group => ({ index: index + 1, length: group.length })),
  )
  return matches.sort((a, b) => b.length - a.length)[0]?.index ?? 0
}

function isSame(path: string, other: string): boolean {
  return path.toLowerCase() === other.toLowerCase()
}

/** The group itself, or a path below it. The platform ignores the case. */
function isIn(path: string, group: string): boolean {
  return `${path}/`.toLowerCase().startsWith(`${group}/`.toLowerCase())
}
