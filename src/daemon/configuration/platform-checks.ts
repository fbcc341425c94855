// Checks for several platforms: their names, tokens and secrets, and the platforms in project patterns, such as `cloud:team/**`.
import { defaultPlatform, hasDefaultPlatform, pathsIn, platformViews } from './platforms.ts'
import { namesIn } from '../../lib/template.ts'
import { namesPlatform, type Choice } from '../../lib/chooser.ts'
import type { ConfigFault, FaultOf } from './config-fault.ts'
import type { Config, HasOptions } from './options.ts'
import type { Setting } from './reader.ts'

/** The settings outside of `platforms` that belong to the `default` platform. */
const ofDefault = /^(platform\.|webhook\.|poll\.(projects|groups|mine|cross_project)$)/

export function* wrongPlatforms(config: Config, settings: readonly Setting[], fault: FaultOf): Generator<ConfigFault> {
  const { platforms } = config
  if (platforms.length > 0) {
    yield* repeated(config, fault)
    yield* withoutPlatform(config, settings, fault)
  }
  for (const [index, one] of platforms.entries()) {
    yield* wrongTokens(one, `platforms[${index}]`, fault)
  }
  if (platforms.length > 0) yield* sharedSecrets(config, fault)
}

function* repeated({ platforms, platform }: Config, fault: FaultOf): Generator<ConfigFault> {
  const names = platforms.map(({ name }) => name)
  const urls = platforms.map(({ url }) => plain(url))
  for (const [index, { name, url }] of platforms.entries()) {
    const isUrlUsed =
      urls.indexOf(plain(url)) !== index || (platform.url !== undefined && plain(platform.url) === plain(url))
    if (names.indexOf(name) !== index)
      yield fault(`platforms[${index}].name`, `The name ${name} is already used.`, 'Use another name.')
    if (isUrlUsed) {
      const remedy = 'List each platform once, with `tokens` for its groups.'
      yield fault(`platforms[${index}].url`, 'Another platform has this URL.', remedy)
    }
  }
}

function plain(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname.replace(/\/+$/, '')
}

/** Yields faults about settings of the `default` platform if that platform does not exist. */
function* withoutPlatform(config: Config, settings: readonly Setting[], fault: FaultOf): Generator<ConfigFault> {
  if (hasDefaultPlatform(config)) return
  for (const { path, source, option } of settings) {
    const isOfPlatform = option.spec.ofPlatform === true || ofDefault.test(path)
    if (source.from === 'default' || !isOfPlatform) continue
    yield fault(
      path,
      'This setting belongs to the platform `default`, which does not exist: platforms are listed, and platform.url is not set.',
      'Move it to an item of `platforms`, or set platform.url (PIPESPAN_PLATFORM_URL).',
    )
  }
}

function* wrongTokens(platform: Config['platforms'][number], path: string, fault: FaultOf): Generator<ConfigFault> {
  const { token, tokens, poll } = platform
  for (const [index, { groups }] of tokens.entries()) {
    if (groups.length > 0 && !groups.some(group => /^\d+$/.test(group))) continue
    const remedy = 'Write full paths, such as team/sub.'
    yield fault(`${path}.tokens[${index}].groups`, 'Groups must be named by their full paths.', remedy)
  }
  const groups = tokens.flatMap(({ groups: own }, index) => own.map(group => ({ group, index })))
  const all = groups.map(({ group }) => group.toLowerCase())
  for (const [at, { group, index }] of groups.entries()) {
    if (all.indexOf(group.toLowerCase()) === at) continue
    yield fault(
      `${path}.tokens[${index}].groups`,
      `Another token already covers the group ${group}.`,
      'Name each group once.',
    )
  }
  if (token.current() !== undefined) return
  const isOfGroup = (name: string): boolean => all.some(group => `${name}/`.toLowerCase().startsWith(`${group}/`))
  const named = [...(poll.projects ?? []), ...(poll.groups ?? []), ...pathsIn(platform)]
  const orphan = named.find(name => !isOfGroup(name))
  if (orphan === undefined) return
  const remedy = 'Set `token`, write its full path, or add a token for its group.'
  yield fault(`${path}.name`, `No token of this platform covers ${orphan}.`, remedy)
}

/** Yields faults about secrets shared by two platforms. The secret identifies the platform that sent a delivery, so each platform needs its own. */
function* sharedSecrets(config: Config, fault: FaultOf): Generator<ConfigFault> {
  const { platforms, webhook } = config
  const first = hasDefaultPlatform(config) ? [{ name: defaultPlatform, path: 'webhook', webhook }] : []
  const all = [...first, ...platforms.map((one, index) => ({ ...one, path: `platforms[${index}].webhook` }))]
  const users = new Map<string, string>()
  for (const { name, path, webhook: one } of all) {
    for (const [key, secrets] of [
      ['token', one.token],
      ['signing_token', one.signingToken],
    ] as const) {
      for (const secret of secrets.current() ?? []) {
        const user = users.get(secret.reveal())
        users.set(secret.reveal(), name)
        if (user === undefined || user === name) continue
        const what = `The platforms ${user} and ${name} have the same webhook secret, but the secret must identify the platform that sent a delivery.`
        yield fault(`${path}.${key}`, what, 'Give each platform a secret of its own.')
      }
    }
  }
}

/**
 * The project patterns in a setting. `isTenant`: the patterns determine what one recipient may see, so a project of another platform must not be
 * included just because its path matches.
 */
interface Patterns extends Choice {
  readonly at: string
  readonly isTenant?: true
}

/** Returns all project patterns in the configuration. `ofFeatures` are the paths of features' settings that contain patterns. */
function allPatterns(config: Config, settings: readonly Setting[], ofFeatures: readonly string[] = []): Patterns[] {
  const { projects, pages, costs } = config
  const added = settings.filter(({ path }) => ofFeatures.includes(path))
  return [
    { at: 'projects', ...projects },
    { at: 'pages.hide', exclude: pages.hide },
    ...costs.rules.map(({ match }, index) => ({ at: `costs.rules[${index}].match.project`, include: match.project })),
    ...added.map(({ path, value }) => ({ at: path, include: value as Choice['include'] })),
    ...settings.flatMap(tenantPatterns),
  ]
}

/** Returns the patterns by which a list entry, such as `destinations[0].projects`, selects projects. */
function tenantPatterns({ path, value }: Setting): Patterns[] {
  const [, at, which] = /^(.+\]\.projects)\.(include|exclude)$/.exec(path) ?? []
  return at === undefined || which === undefined ? [] : [{ at, [which]: value, isTenant: true }]
}

function platformsOf(config: Config): string[] {
  return [...new Set(platformViews(config).map(({ platform }) => platform))]
}

/** Returns faults about patterns that name an unconfigured platform, because they would never match. */
export function unknownPlatforms(
  config: Config,
  settings: readonly Setting[],
  features: readonly HasOptions[],
  faultOf: FaultOf,
): ConfigFault[] {
  const ofFeatures = features.flatMap(({ patterns = [] }) => patterns)
  const names = platformsOf(config)
  const known = new Set(names.map(name => name.toLowerCase()))
  return allPatterns(config, settings, ofFeatures).flatMap(({ at, include = [], exclude = [] }) =>
    [...include, ...exclude].filter(namesPlatform).flatMap(pattern => {
      const name = pattern.slice(0, pattern.indexOf(':'))
      if (known.has(name.toLowerCase())) return []
      const what = `“${pattern}” is for the platform ${name}, which is not configured.`
      return [faultOf(at, what, `Use one of these prefixes, or none: ${names.map(one => `${one}:`).join(', ')}.`)]
    }),
  )
}

/** Returns warnings about patterns and headers that do not name a platform, because two platforms may have projects with the same path. */
export function ambiguousPlatforms(config: Config, settings: readonly Setting[]): string[] {
  const names = platformsOf(config)
  if (names.length < 2) return []
  const all = names.join(', ')
  const patterns = allPatterns(config, settings).flatMap(({ at, include = [], isTenant }) => {
    const open = include.find(pattern => !namesPlatform(pattern) && pattern !== '**')
    if (isTenant !== true || open === undefined) return []
    return [
      `${at}: “${open}” matches projects of all platforms (${all}), which may have the same paths. ` +
        `Name the platform in each pattern, such as ${names[0] ?? ''}:${open}.`,
    ]
  })
  const headers = config.destinations.flatMap(({ headers: own, projects }, index) => {
    const used = [...(own.current()?.values() ?? [])].flatMap(value => namesIn(value.reveal()))
    const { include = [] } = projects
    const isOfOne = new Set(include.map(platformIn)).size === 1 && include.every(namesPlatform)
    if (used.length === 0 || used.includes('platform') || isOfOne) return []
    return [
      `destinations[${index}].headers: {${used.join('}, {')}} may be the same for projects of several platforms (${all}). ` +
        'Add {platform}, or give each platform a destination of its own.',
    ]
  })
  return [...patterns, ...headers]
}

function platformIn(pattern: string): string {
  return pattern.slice(0, pattern.indexOf(':') + 1).toLowerCase()
}
