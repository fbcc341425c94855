// The options of several platforms, a list of mappings: each item has the settings of the single form, under the same names.
import { httpUrl } from './address-kinds.ts'
import { Each, Option, secretSetting, setting, yamlKey, type Group } from './option.ts'
import { projectNames } from './project-kinds.ts'
import { platformName } from './plain-kinds.ts'
import { platformOptions } from './platform-options.ts'
import { secret } from './secret-kinds.ts'

/** Settings without their variables, which could not say to which platform they belong. */
function inFile<G extends Group>(group: G, path: string): G {
  const own = Object.entries(group).map(([key, entry]) => {
    if (!(entry instanceof Option)) throw new TypeError('The single form of a platform has plain settings only.')
    return [key, inFileOnly(entry, `${path}.${yamlKey(key)}`)]
  })
  return Object.fromEntries(own) as G
}

function inFileOnly<V>({ kind, spec }: Option<V>, path: string): Option<V> {
  const { default: fallback, unset, protects } = spec
  return new Option(kind, {
    ...(fallback !== undefined && { default: fallback }),
    ...(unset !== undefined && { unset }),
    ...(protects !== undefined && { protects }),
    description: `As \`${path}\`, of this platform.`,
  })
}

/** What each item has, too, of the settings of features: those that belong to a platform. */
export function ofEachPlatform(group: Group, path = ''): Group {
  const own = Object.entries(group).flatMap(([key, entry]): [string, Group[string]][] => {
    const place = path + yamlKey(key)
    if (entry instanceof Each) return []
    if (entry instanceof Option) return entry.spec.ofPlatform === true ? [[key, inFileOnly(entry, place)]] : []
    const inner = ofEachPlatform(entry, `${place}.`)
    return Object.keys(inner).length === 0 ? [] : [[key, inner]]
  })
  return Object.fromEntries(own)
}

/** `single`: the settings of the single form that each item has, too. */
export function severalPlatforms<P extends Group, W extends Group, L extends Group>(single: {
  readonly platform: P
  readonly webhook: W
  readonly poll: L
}) {
  return new Each(
    {
      name: setting(platformName, { required: true }).describe(
        'Unique name in logs, metrics and commands; not `default`.',
      ),
      url: setting(httpUrl, { required: true }).describe('Base URL of the platform, as in its webhooks.'),
      ...inFile(single.platform, 'platform'),
      tokens: new Each(
        {
          groups: setting(projectNames(), { required: true }).describe(
            'Full paths of the groups, with their subgroups, whose projects this token is for.',
          ),
          token: secretSetting(secret, { required: true }).describe('The token, with the scope read_api.'),
          tokenType: inFileOnly(platformOptions.tokenType, 'platform.token_type'),
          budget: inFileOnly(platformOptions.budget, 'platform.budget'),
        },
        'Tokens for some groups of the platform, each with a budget of its own. If several are for a project, the one of the longest group is used; `token` is for all other projects.',
      ),
      webhook: inFile(single.webhook, 'webhook'),
      poll: inFile(single.poll, 'poll'),
    },
    'Several platforms, each with a webhook secret, tokens and budgets of its own: see docs/several-platforms.md. If platforms are listed, the same settings outside of the list, and queries without a platform, belong to one more platform, `default`, which exists if `platform.url` is set.',
  )
}
