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

/** What the configuration of a view is of: as the only platform of its configuration, it has no name there. */
const viewed = Symbol('view')

interface Viewed {
  readonly platform: string
  /** Whether what is at a path is for this token. */
  readonly isOwn: (path: string) => boolean
}

function viewOf(config: object): Viewed | undefined {
  return (config as { readonly [viewed]?: Viewed })[viewed]
}

/** The name of the platform that this configuration is a view of; undefined for a whole configuration. */
export function viewedPlatform(config: object): string | undefined {
  return viewOf(config)?.platform
}

/** Whether an entry of a list that may name its platform, and a project or a group by its path, is for the token of this view. */
export function isOfView(config: object, platform = defaultPlatform, path = ''): boolean {
  const view = viewOf(config)
  return view === undefined || (view.platform === platform && view.isOwn(path))
}

/** The platform of `platform` first. The first view of each platform is that of its token without groups, which may be missing. */
export function platformViews<P extends string>(config: Config<P>): PlatformView<P>[] {
  const { platforms } = config
  if (platforms.length === 0) return [{ ...named(defaultPlatform), config }]
  const view: Viewed = { platform: defaultPlatform, isOwn: () => true }
  const first = { ...named(defaultPlatform), config: { ...config, platforms: [], [viewed]: view } }
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

/** The other lists of projects and groups of a platform: those of features, by the names of their settings. */
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
