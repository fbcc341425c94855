// The options for the platform's API: how to reach it, and what to fetch from it: polling, redelivery, hooks. Also the options for several platforms,
// as a list of mappings: each item has the settings of a single platform, under the same names.
import { certificateFile, secret } from './secret-kinds.ts'
import { boolean, duration, durationFrom, integer, oneOf, platformName } from './plain-kinds.ts'
import { httpUrl } from './address-kinds.ts'
import { projectNames } from './project-kinds.ts'
import { secretSetting, setting, Each, Option, yamlKey, type Group } from './option.ts'

export const platformOptions = {
  url: setting(httpUrl, { unset: 'taken from each delivery', example: 'https://git.example.com' }).describe(
    'Base URL of the platform.',
  ),
  token: secretSetting(secret).describe(
    'Token with the scope read_api: fetches details that webhooks leave out, and allows polling.',
  ),
  tokenType: setting(oneOf(['private', 'bearer', 'job']), { default: 'private' }).describe(
    'Type of the token: sent as `PRIVATE-TOKEN`, as an OAuth bearer token, or as `JOB-TOKEN`.',
  ),
  caFile: setting(certificateFile).describe('PEM file of an additional trusted certificate authority.'),
  budget: setting(integer({ min: 1, max: 100_000 }), { default: '300' }).describe(
    'Requests per minute, shared by all replicas and commands that use the token.',
  ),
}

export const enrichDeadline = setting(duration, { default: '2m' }).describe(
  "Maximum delay of a finished pipeline's export while the platform does not respond.",
)

const needsToken = { 'platform.token': 'Polling and redelivery need a token with the scope read_api.' }
const needsUrl = { public_url: "Redelivery needs the daemon's public URL to recognize its own webhooks." }

export const pollingOptions = {
  poll: {
    projects: setting(projectNames(), { example: 'team/shop,4711', needs: needsToken }).describe(
      'Projects to poll for pipelines: IDs or full paths.',
    ),
    groups: setting(projectNames(), { example: 'team', needs: needsToken }).describe(
      'Groups to poll, including subgroups: IDs or full paths.',
    ),
    mine: setting(boolean, { default: 'false', needs: needsToken }).describe(
      "Poll for pipelines that the token's user started, in all projects.",
    ),
    crossProject: setting(boolean, { default: 'true' }).describe(
      'If the settings above name nothing to poll and there is a token, poll what the token may see: the pipelines that its user started, in all projects, and the projects that its user is a member of. Each round takes 3 requests, plus 2 for each project that was active, at most 60 % of PIPESPAN_PLATFORM_BUDGET.',
    ),
    interval: setting(durationFrom(1_000), { default: '60s' }).describe('Polling interval.'),
    lookback: setting(duration, { default: '24h' }).describe('How far back the first poll of a project looks.'),
    running: setting(boolean, { default: 'false' }).describe(
      'Show unfinished pipelines even without webhooks. Each is fetched when it is found, and again while it runs (3 requests). The first poll of a project begins with its running and pending pipelines, even if they have not changed within the lookback (2 requests).',
    ),
  },
  redelivery: setting(boolean, { default: 'false', needs: { ...needsToken, ...needsUrl } }).describe(
    "Fetch failed deliveries of the webhooks of the polled projects and groups from the platform's delivery log.",
  ),
  watchHooks: setting(boolean, { default: 'false', needs: { ...needsToken, ...needsUrl } }).describe(
    "Watch this daemon's webhooks in the polled projects and groups, and export their state and delivery durations: every 5 minutes 1 request for each project or group and 1 for each webhook, at the lowest priority. The token must be allowed to read webhooks. Included in PIPESPAN_REDELIVERY.",
  ),
  publicUrl: setting(httpUrl, { example: 'https://pipespan.example.com' }).describe(
    'Public URL at which the platform reaches this daemon; used to recognize its own webhooks.',
  ),
}

/** Returns copies of settings without environment variables, because a variable cannot express which platform it belongs to. */
function inFile<G extends Group>(group: G, path: string): G {
  const own = Object.entries(group).map(([key, entry]) => {
    if (!(entry instanceof Option)) throw new TypeError('The settings of a single platform must not have groups.')
    return [key, inFileOnly(entry, `${path}.${yamlKey(key)}`)]
  })
  return Object.fromEntries(own) as G
}

function inFileOnly<V>({ kind, spec }: Option<V>, path: string): Option<V> {
  const { variable, spellings, example, restart, ofPlatform, ...own } = spec
  return new Option(kind, { ...own, description: `Like \`${path}\`, for this platform.` })
}

/** Returns the feature settings that each item of `platforms` has as well, because they belong to a platform. */
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

/** Creates the options for several platforms. `single` are the settings of a single platform, which each item has as well. */
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
        'Tokens for some groups of the platform, each with its own budget. If several cover a project, the one with the longest group path is used; `token` is for all other projects.',
      ),
      webhook: inFile(single.webhook, 'webhook'),
      poll: inFile(single.poll, 'poll'),
    },
    'Several platforms, each with its own webhook secret, tokens and budgets: see docs/several-platforms.md. If platforms are listed, the same settings outside the list, and queries without a platform, belong to one more platform, `default`. It exists if `platform.url` is set.',
  )
}
