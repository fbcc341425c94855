// `pipespan config check [FILE]`: reports all errors in the configuration at once. Never prints a secret.
import { plainLine } from '../lib/plain-text.ts'
import { describeConfig, shown } from '../daemon/configuration/reader.ts'
import { describeFault, describeSource } from '../daemon/configuration/config-fault.ts'
import { loadConfig, type FaultyConfig, type LoadedConfig } from '../daemon/configuration/load.ts'
import { platformViews } from '../daemon/configuration/platforms.ts'
import { features } from '../features.ts'
import { profiles } from '../daemon/profile.ts'
import type { Config } from '../daemon/configuration/options.ts'
import { complain, exitCode, print, type Terminal, printJson } from '../lib/terminal.ts'
import { configuredClient } from './platform.ts'
import type { Trial } from '../daemon/feature.ts'
import { surroundingsOf } from '../daemon/export.ts'
import { ruleInputsOf } from '../daemon/platform.ts'

interface ConfigCheckOptions {
  /** The path of the YAML file; by default, the path in `PIPESPAN_CONFIG`. */
  readonly file?: string | undefined
  /** Also prints every setting in effect, and its source. */
  readonly show?: boolean
  /** Also tries the requests that features send to the platform, such as each configured query. */
  readonly online?: boolean
  /** Prints one JSON document to standard output instead of lines. */
  readonly json: boolean
}

/**
 * Returns the exit code: 0 if the daemon would start with the configuration; 2 if it would not, or if a query that it tried fails. Warnings do not
 * change the exit code.
 */
export async function configCheck(
  terminal: Terminal,
  { file, show = false, online = false, json }: ConfigCheckOptions,
): Promise<number> {
  const loaded = loadConfig({ env: terminal.env, file, profiles, features })
  const tried = online && loaded.ok ? await tryAll(loaded.config) : {}
  const code =
    !loaded.ok ||
    Object.values(tried)
      .flat()
      .some(({ ok }) => !ok)
      ? exitCode.misused
      : exitCode.done
  if (json) {
    const document = { ...asJson(loaded, show), ...tried }
    printJson(terminal, document, 2)
    return code
  }
  for (const warning of loaded.warnings) complain(terminal, `warning: ${warning}`)
  if (!loaded.ok) {
    for (const fault of loaded.faults) complain(terminal, describeFault(fault))
    const { length } = loaded.faults
    complain(terminal, `${length === 1 ? '1 fault' : `${length} faults`} in the configuration.`)
    return code
  }
  print(terminal, show ? describeConfig(loaded) : 'The configuration is valid.')
  for (const cost of costsOf(loaded.config)) print(terminal, cost)
  for (const { ok, what } of Object.values(tried).flat()) print(terminal, `${ok ? '✓' : '✗'} ${plainLine(what)}`)
  return code
}

function asJson(loaded: LoadedConfig | FaultyConfig, show: boolean): object {
  const { ok, warnings } = loaded
  if (!loaded.ok) {
    const faults = loaded.faults.map(fault => ({ ...fault, source: describeSource(fault.source) }))
    return { ok, faults, warnings, costs: [] }
  }
  const settings = loaded.settings.map(setting => ({
    setting: setting.path,
    value: shown(setting),
    source: describeSource(setting.source),
  }))
  return { ok, faults: [], warnings, costs: costsOf(loaded.config), ...(show ? { settings } : {}) }
}

/** Returns the results of the requests that features try with each token, by the name of the request. */
async function tryAll(config: Config): Promise<Record<string, readonly Trial[]>> {
  const all: Record<string, readonly Trial[]> = {}
  for (const { what, run } of features.flatMap(one => one.perToken?.trials ?? [])) {
    const found: Trial[] = []
    for (const view of platformViews(config)) {
      const client = configuredClient(view.config)
      try {
        found.push(...(await run(view.config as never, client)))
      } finally {
        await client?.close()
      }
    }
    all[what] = found.length === 0 ? [{ ok: true, what: `No ${what} are configured.` }] : found
  }
  return all
}

/**
 * Returns sentences about how many requests to the platform's API the features cause; empty if they cause none. If several tokens are configured,
 * each token has its own sentences.
 */
export function costsOf(config: Config): string[] {
  const views = platformViews(config)
  const costs = views.flatMap(view =>
    costsOfOne(view.config).map(cost => (views.length === 1 ? cost : `${view.name}: ${cost}`)),
  )
  const surroundings = surroundingsOf(config, features)
  return [...costs, ...features.flatMap(one => one.costs?.(config as never, surroundings) ?? [])]
}

function costsOfOne(config: Config): string[] {
  return [
    ...hookCosts(config),
    ...attributeCosts(config),
    ...features.flatMap(one => one.perToken?.costs?.(config as never, config) ?? []),
  ]
}

/** Whether requests can be sent to the platform: its URL and a token are configured. */
function asksPlatform({ platform }: Config): boolean {
  return platform.url !== undefined && platform.token.current() !== undefined
}

function* attributeCosts(config: Config): Generator<string> {
  const { labels, variables } = ruleInputsOf(config)
  const without = 'without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN, they are only read from webhooks.'
  const orNone = (cost: string): string => (asksPlatform(config) ? cost : without)
  if (labels) yield `Labels (attributes.rules): ${orNone('at most 2 requests for each pipeline of a merge request.')}`
  if (variables)
    yield `Variables (attributes.rules): ${orNone('1 request for each pipeline that no webhook reported.')}`
}

function hookCosts({ redelivery, watchHooks, poll }: Config): string[] {
  const owners = (poll.projects ?? []).length + (poll.groups ?? []).length
  if (owners === 0 || !(redelivery || watchHooks)) return []
  const on = redelivery ? 'PIPESPAN_REDELIVERY' : 'PIPESPAN_WATCH_HOOKS'
  return [
    `Hooks (${on}): ${owners} ${owners === 1 ? 'request' : 'requests'} every 5 minutes, and 1 more for each hook of this daemon and each 100 of its deliveries.`,
  ]
}
