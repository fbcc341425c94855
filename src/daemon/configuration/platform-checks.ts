// Checks across the settings of several platforms.
import { defaultPlatform, hasDefaultPlatform, pathsIn } from './platforms.ts'
import type { ConfigFault, FaultOf } from './config-fault.ts'
import type { Config } from './options.ts'
import type { Setting } from './reader.ts'

/** Settings outside of `platforms` that belong to the platform `default`. */
const ofDefault = /^(platform\.|webhook\.|poll\.(projects|groups|mine|cross_project)$)/

export function* wrongPlatforms(
  config: Config,
  settings: readonly Setting[],
  faulty: ReadonlySet<string>,
  fault: FaultOf,
): Generator<ConfigFault> {
  const { platforms } = config
  const isRead = [...faulty].every(path => !path.startsWith('platform'))
  if (!isRead) return
  if (platforms.length > 0) {
    yield* repeated(config, fault)
    yield* withoutPlatform(config, settings, fault)
  }
  for (const [index, one] of platforms.entries()) {
    yield* wrongTokens(one, `platforms[${index}]`, fault)
    yield* wrongSignature(one, `platforms[${index}]`, fault)
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

/** Settings of the platform `default`, if it does not exist. */
function* withoutPlatform(config: Config, settings: readonly Setting[], fault: FaultOf): Generator<ConfigFault> {
  if (hasDefaultPlatform(config)) return
  for (const { path, source, option } of settings) {
    const isOfPlatform = option.spec.ofPlatform === true || ofDefault.test(path)
    if (source.from === 'default' || !isOfPlatform) continue
    yield fault(
      path,
      'It belongs to the platform `default`, which does not exist: platforms are listed, and platform.url is not set.',
      'Move it to an item of `platforms`, or set platform.url (PIPESPAN_PLATFORM_URL).',
    )
  }
}

function* wrongTokens(platform: Config['platforms'][number], path: string, fault: FaultOf): Generator<ConfigFault> {
  const { token, tokens, poll } = platform
  for (const [index, { groups }] of tokens.entries()) {
    if (groups.length > 0 && !groups.some(group => /^\d+$/.test(group))) continue
    const remedy = 'Write full paths, such as team/sub.'
    yield fault(`${path}.tokens[${index}].groups`, 'It names no group by its full path.', remedy)
  }
  const groups = tokens.flatMap(({ groups: own }, index) => own.map(group => ({ group, index })))
  const all = groups.map(({ group }) => group.toLowerCase())
  for (const [at, { group, index }] of groups.entries()) {
    if (all.indexOf(group.toLowerCase()) === at) continue
    yield fault(`${path}.tokens[${index}].groups`, `Another token is for the group ${group}.`, 'Name each group once.')
  }
  if (token.current() !== undefined) return
  const isOfGroup = (name: string): boolean => all.some(group => `${name}/`.toLowerCase().startsWith(`${group}/`))
  const named = [...(poll.projects ?? []), ...(poll.groups ?? []), ...pathsIn(platform)]
  const orphan = named.find(name => !isOfGroup(name))
  if (orphan === undefined) return
  const remedy = 'Set `token`, name it by its full path, or add a token for its group.'
  yield fault(`${path}.name`, `No token of this platform is for ${orphan}.`, remedy)
}

function* wrongSignature(
  { webhook }: Config['platforms'][number],
  path: string,
  fault: FaultOf,
): Generator<ConfigFault> {
  if (!webhook.requireSignature || webhook.signingToken.current() !== undefined) return
  const what = 'Signatures are required, but no signing token is configured to verify them.'
  yield fault(`${path}.webhook.require_signature`, what, `Set ${path}.webhook.signing_token.`)
}

/** The secret says which platform has sent a delivery. */
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
        const what = `The platforms ${user} and ${name} have the same webhook secret, which must say who has sent a delivery.`
        yield fault(`${path}.${key}`, what, 'Give each platform a secret of its own.')
      }
    }
  }
}
