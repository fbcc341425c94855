// `pipespan config check [FILE]`: everything that is wrong with the configuration, at once. No secret is printed.
import { costsOf } from './config-costs.ts'
import { describeConfig, shown } from '../config/describe.ts'
import { describeFault, describeSource } from '../config/config-fault.ts'
import { loadConfig, type FaultyConfig, type LoadedConfig } from '../config/load.ts'
import { platformViews } from '../config/platforms.ts'
import { profiles } from '../app/profile.ts'
import type { Config } from '../config/options.ts'
import type { Environment } from '../config/variables.ts'
import { configuredClient, runQuery } from './platform.ts'
import { reasonOf } from '../lib/fault.ts'

export interface ConfigCheckOptions {
  /** The YAML file; else `PIPESPAN_CONFIG` names it. */
  readonly file?: string | undefined
  /** Also print every setting in effect, and where it comes from. */
  readonly show?: boolean | undefined
  /** Also ask the platform each configured query once. */
  readonly online?: boolean | undefined
  /** One JSON document on standard output instead of lines. */
  readonly json?: boolean | undefined
}

export interface ConfigCheckIo {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
  readonly env: Environment
}

/** The exit code: 0 when the daemon would start with it, 2 when it would not, or a query that was tried fails. Warnings do not change it. */
export async function configCheck(
  { file, show, online, json }: ConfigCheckOptions,
  io: ConfigCheckIo,
): Promise<number> {
  const loaded = loadConfig({ env: io.env, file, profiles })
  const tried = online === true && loaded.ok ? await tryQueries(loaded.config) : undefined
  const failed = !loaded.ok || tried?.some(({ ok }) => !ok) === true
  if (json === true) {
    const document = { ...asJson(loaded, show === true), ...(tried !== undefined && { queries: tried }) }
    io.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
    return failed ? 2 : 0
  }
  for (const warning of loaded.warnings) io.stderr.write(`warning: ${warning}\n`)
  if (!loaded.ok) {
    for (const fault of loaded.faults) io.stderr.write(`${describeFault(fault)}\n`)
    const { length } = loaded.faults
    io.stderr.write(`${length === 1 ? '1 fault' : `${length} faults`} in the configuration.\n`)
    return 2
  }
  if (show === true) io.stdout.write(describeConfig(loaded))
  else io.stdout.write('The configuration is valid.\n')
  for (const cost of costsOf(loaded.config)) io.stdout.write(`${cost}\n`)
  for (const { ok, what } of tried ?? []) io.stdout.write(`${ok ? '✓' : '✗'} ${what}\n`)
  return failed ? 2 : 0
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
        const { points } = await runQuery(query, client)
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
