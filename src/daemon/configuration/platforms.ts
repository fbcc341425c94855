// Views of the configuration, one for each token of each platform. In a view, that token appears to be the only token of the only platform, so no
// other code needs to know that there may be several.
import type { Config } from './options.ts'

export interface PlatformView<P extends string = string> {
  /** The platform's name; `default` for the platform configured by the `platform` setting. */
  readonly platform: string
  /** The unique name of a configuration view: the platform's name, followed by the first group if the token is limited to certain groups. */
  readonly name: string
  /** The groups whose projects are read with the token. If empty, the token is used for all projects that no other token of the platform covers. */
  readonly groups: readonly string[]
  readonly config: Config<P>
}

type Listed<P extends string> = Config<P>['platforms'][number]

export const defaultPlatform = 'default'

/**
 * The key of the property that records which platform a configuration view (one token of one platform) is for. The view's settings do not contain the
 * platform's name.
 */
const viewed = Symbol('view')

interface Viewed {
  readonly platform: string
  /** Whether this token is used for the project or group at a path. */
  readonly isOwn: (path: string) => boolean
}

function viewOf(config: object): Viewed | undefined {
  return (config as { readonly [viewed]?: Viewed })[viewed]
}

/** Returns the name of the platform that a configuration view is for. Undefined if `config` is the whole configuration. */
export function viewedPlatform(config: object): string | undefined {
  return viewOf(config)?.platform
}

/** Whether a list entry applies to the token of a configuration view. The entry may name its platform and the path of a project or group. */
export function isOfView(config: object, platform = defaultPlatform, path = ''): boolean {
  const view = viewOf(config)
  return view === undefined || (view.platform === platform && view.isOwn(path))
}

/**
 * Returns all configuration views, one per token, starting with those of the `platform` setting. The first view of each platform is for its token
 * without groups, which may be missing.
 */
export function platformViews<P extends string>(config: Config<P>): PlatformView<P>[] {
  const { platforms } = config
  if (platforms.length === 0) return [{ ...named(defaultPlatform), config }]
  const view: Viewed = { platform: defaultPlatform, isOwn: () => true }
  const first = { ...named(defaultPlatform), config: { ...config, platforms: [], [viewed]: view } }
  return [...(hasDefaultPlatform(config) ? [first] : []), ...platforms.flatMap(one => viewsOf(one, config))]
}

/** Whether a platform is configured by settings outside of `platforms`. */
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
  return all.map(({ groups, ...own }, index): PlatformView<P> => {
    const isOwn = (path: string): boolean => indexFor(path, tokens) === index
    const chosen = (paths: readonly string[] | undefined): readonly string[] | undefined => paths?.filter(isOwn)
    // A group with its own token may be part of a larger polled group. It is then polled with its own token.
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
        ...{ ...config, platforms: [], webhook, poll, [viewed]: { platform, isOwn } },
        platform: { ...{ url, profile, caFile }, ...own },
        ...chosenOf(lists, isOwn),
      },
    }
  })
}

interface Lists {
  readonly [name: string]: readonly string[] | undefined | Lists
}

/** Returns the projects and groups listed in the feature settings of a platform, by setting name. */
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

/** Returns the projects and groups listed in feature settings. */
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

/**
 * Returns the index of the token to use for a project or group. Index 0 is the token without groups, which is also used for IDs and for the whole
 * instance.
 */
function indexFor(path: string, tokens: readonly { readonly groups: readonly string[] }[]): number {
  const matches = tokens.flatMap(({ groups }, index) =>
    groups.filter(group => isIn(path, group)).map(group => ({ index: index + 1, length: group.length })),
  )
  return matches.sort((a, b) => b.length - a.length)[0]?.index ?? 0
}

function isSame(path: string, other: string): boolean {
  return path.toLowerCase() === other.toLowerCase()
}

/** Whether the path is the group itself or lies below it. The comparison is case-insensitive, because the platform ignores case in paths. */
function isIn(path: string, group: string): boolean {
  return `${path}/`.toLowerCase().startsWith(`${group}/`.toLowerCase())
}
