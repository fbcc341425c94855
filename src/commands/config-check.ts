// `pipespan config check [FILE]`: everything that is wrong with the configuration, at once. No secret is printed.
import { plainLine } from '../lib/plain-text.ts'
import { costsOf } from './config-costs.ts'
import { describeConfig, shown } from '../daemon/configuration/describe.ts'
import { describeFault, describeSource } from '../daemon/configuration/config-fault.ts'
import { loadConfig, type FaultyConfig, type LoadedConfig } from '../daemon/configuration/load.ts'
import { platformViews } from '../daemon/configuration/platforms.ts'
import { features } from '../features.ts'
import { profiles } from '../daemon/profile.ts'
import type { Config } from '../daemon/configuration/options.ts'
import { complain, exitCode, print, type Terminal, printJson } from '../lib/terminal.ts'
import { configuredClient, runQuery } from './platform.ts'
import { reasonOf } from '../lib/fault.ts'

interface ConfigCheckOptions {
  /** The YAML file; else `PIPESPAN_CONFIG` names it. */
  readonly file?: string | undefined
  /** Also print every setting in effect, and where it comes from. */
  readonly show?: boolean
  /** Also ask the platform each configured query once. */
  readonly online?: boolean
  /** One JSON document on standard output instead of lines. */
  readonly json: boolean
}

/** The exit code: 0 when the daemon would start with it, 2 when it would not, or a query that was tried fails. Warnings do not change it. */
export async function configCheck(
  terminal: Terminal,
  { file, show = false, online = false, json }: ConfigCheckOptions,
): Promise<number> {
  const loaded = loadConfig({ env: terminal.env, file, profiles, features })
  const tried = online && loaded.ok ? await tryQueries(loaded.config) : undefined
  const code = !loaded.ok || tried?.some(({ ok }) => !ok) === true ? exitCode.misused : exitCode.done
  if (json) {
    const document = { ...asJson(loaded, show), ...(tried !== undefined && { queries: tried }) }
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
  for (const { ok, what } of tried ?? []) print(terminal, `${ok ? '✓' : '✗'} ${plainLine(what)}`)
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

interface OnlineFinding {
  readonly ok: boolean
  readonly what: string
}

/** Runs each configured query once. */
async function tryQueries(config: Config): Promise<OnlineFinding[]> {
  if (config.queries.length === 0) return [{ ok: true, what: 'No queries are configured.' }]
  const found: OnlineFinding[] = []
  for (const view of platformViews(config)) {
    if (view.config.queries.length > 0) found.push(...(await tryQueriesOf(view.config)))
  }
  return found
}

async function tryQueriesOf(config: Config): Promise<OnlineFinding[]> {
  const client = configuredClient(config)
  if (client === undefined) {
    return [{ ok: false, what: 'Queries cannot be checked without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.' }]
  }
  const found: OnlineFinding[] = []
  try {
    for (const query of config.queries) {
      try {
        const { points, problem } = await runQuery(query, client)
        if (problem !== undefined) found.push({ ok: false, what: `${query.metric}: ${problem}` })
        const [first] = points
        const values =
          points.length === 1 && first !== undefined ? JSON.stringify(first.value) : `${points.length} points`
        found.push({ ok: true, what: `${query.metric}: ${values}.` })
      } catch (error) {
        found.push({ ok: false, what: `${query.metric}: ${reasonOf(error)}` })
      }
    }
  } finally {
    await client.close()
  }
  return found
}
