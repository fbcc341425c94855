// Checks across the settings of several platforms.
import { defaultPlatform, hasDefaultPlatform, platformViews } from './platforms.ts'
import type { ConfigFault, FaultOf } from './config-fault.ts'
import type { Config } from './options.ts'
import type { Setting } from './reader.ts'

/** Settings outside of `platforms` that belong to the platform `default`. */
const ofDefault =
  /^(platform\.|webhook\.|poll\.(projects|groups|mine|cross_project)$|audit$|inventory\.|queries\[\d+\]\.metric$)/

export function wrongPlatforms(
  config: Config,
  settings: readonly Setting[],
  faulty: ReadonlySet<string>,
  fault: FaultOf,
): ConfigFault[] {
  const { platforms } = config
  const isRead = [...faulty].every(path => !path.startsWith('platform') && !path.startsWith('queries'))
  if (!isRead) return []
  if (platforms.length === 0) return wrongQueryPlatforms(config, fault)
  return [
    ...repeated(config, fault),
    ...withoutPlatform(config, settings, fault),
    ...wrongQueryPlatforms(config, fault),
    ...platforms.flatMap((one, index) => [
      ...wrongTokens(one, `platforms[${index}]`, fault),
      ...wrongSignature(one, `platforms[${index}]`, fault),
    ]),
    ...sharedSecrets(config, fault),
  ]
}

function repeated({ platforms, platform }: Config, fault: FaultOf): ConfigFault[] {
  const names = platforms.map(({ name }) => name)
  const urls = platforms.map(({ url }) => plain(url))
  return platforms.flatMap(({ name, url }, index) => {
    const isNameUsed = names.indexOf(name) !== index
    const isUrlUsed =
      urls.indexOf(plain(url)) !== index || (platform.url !== undefined && plain(platform.url) === plain(url))
    return [
      ...(isNameUsed
        ? [fault(`platforms[${index}].name`, `The name ${name} is already used.`, 'Use another name.')]
        : []),
      ...(isUrlUsed
        ? [
            fault(
              `platforms[${index}].url`,
              'Another platform has this URL.',
              'List each platform once, with `tokens` for its groups.',
            ),
          ]
        : []),
    ]
  })
}

function plain(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname.replace(/\/+$/, '')
}

/** Settings of the platform `default`, if it does not exist. */
function withoutPlatform(config: Config, settings: readonly Setting[], fault: FaultOf): ConfigFault[] {
  if (hasDefaultPlatform(config)) return []
  return settings
    .filter(({ path, source }) => source.from !== 'default' && ofDefault.test(path) && !isNamedQuery(config, path))
    .map(({ path }) =>
      path.startsWith('queries')
        ? fault(path, 'The query names no platform.', 'Set `platform` to the name of one of `platforms`.')
        : fault(
            path,
            'It belongs to the platform `default`, which does not exist: platforms are listed, and platform.url is not set.',
            'Move it to an item of `platforms`, or set platform.url (PIPESPAN_PLATFORM_URL).',
          ),
    )
}

function isNamedQuery({ queries }: Config, path: string): boolean {
  const [, index] = /^queries\[(\d+)\]/.exec(path) ?? []
  return index !== undefined && queries[Number(index)]?.platform !== undefined
}

function wrongQueryPlatforms(config: Config, fault: FaultOf): ConfigFault[] {
  const names = [...new Set(platformViews(config).map(({ platform }) => platform))]
  return config.queries.flatMap(({ platform }, index) =>
    platform === undefined || names.includes(platform)
      ? []
      : [fault(`queries[${index}].platform`, `There is no platform ${platform}.`, `Name one of ${names.join(', ')}.`)],
  )
}

function wrongTokens(
  { token, tokens, poll, audit = [], inventory }: Config['platforms'][number],
  path: string,
  fault: FaultOf,
): ConfigFault[] {
  const groups = tokens.flatMap(({ groups: own }, index) => own.map(group => ({ group, index })))
  const all = groups.map(({ group }) => group.toLowerCase())
  const twice = groups.filter(({ group }, index) => all.indexOf(group.toLowerCase()) !== index)
  const named = [
    ...(poll.projects ?? []),
    ...(poll.groups ?? []),
    ...audit,
    ...Object.values(inventory).flatMap(of => of ?? []),
  ]
  const isForAll = token.current() !== undefined
  const isOfGroup = (name: string): boolean =>
    all.some(group => `${name.replace(/^project:/, '')}/`.toLowerCase().startsWith(`${group}/`))
  const orphan = isForAll ? undefined : named.find(name => !isOfGroup(name))
  return [
    ...tokens.flatMap(({ groups: own }, index) =>
      own.length === 0 || own.some(group => /^\d+$/.test(group))
        ? [
            fault(
              `${path}.tokens[${index}].groups`,
              'It names no group by its full path.',
              'Write full paths, such as team/sub.',
            ),
          ]
        : [],
    ),
    ...twice.map(({ group, index }) =>
      fault(`${path}.tokens[${index}].groups`, `Another token is for the group ${group}.`, 'Name each group once.'),
    ),
    ...(orphan === undefined
      ? []
      : [
          fault(
            `${path}.name`,
            `No token of this platform is for ${orphan}.`,
            'Set `token`, name it by its full path, or add a token for its group.',
          ),
        ]),
  ]
}

function wrongSignature({ webhook }: Config['platforms'][number], path: string, fault: FaultOf): ConfigFault[] {
  if (!webhook.requireSignature || webhook.signingToken.current() !== undefined) return []
  return [
    fault(
      `${path}.webhook.require_signature`,
      'Signatures are required, but no signing token is configured to verify them.',
      `Set ${path}.webhook.signing_token.`,
    ),
  ]
}

/** The secret says which platform has sent a delivery. */
function sharedSecrets(config: Config, fault: FaultOf): ConfigFault[] {
  const { platforms, webhook } = config
  const first = hasDefaultPlatform(config) ? [{ name: defaultPlatform, path: 'webhook', webhook }] : []
  const all = [...first, ...platforms.map((one, index) => ({ ...one, path: `platforms[${index}].webhook` }))]
  const users = new Map<string, string>()
  return all.flatMap(({ name, path, webhook: { token, signingToken } }) =>
    [token, signingToken].flatMap((secrets, index) =>
      (secrets.current() ?? []).flatMap(secret => {
        const user = users.get(secret.reveal())
        users.set(secret.reveal(), name)
        if (user === undefined || user === name) return []
        const what = `The platforms ${user} and ${name} have the same webhook secret, which must say who has sent a delivery.`
        return [
          fault(`${path}.${index === 0 ? 'token' : 'signing_token'}`, what, 'Give each platform a secret of its own.'),
        ]
      }),
    ),
  )
}
