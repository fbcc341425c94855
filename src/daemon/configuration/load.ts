// Loads the configuration. Environment variables override the file, and the file overrides the defaults. All faults are reported at once.
import type { Clock } from '../../lib/clock.ts'
import { allOptions, type Config, type HasOptions } from './options.ts'
import { crossChecks } from './checks.ts'
import {
  firstSet,
  foreignVariables,
  knownVariables,
  overriddenVariables,
  unknownVariables,
  type Environment,
} from './variables.ts'
import { parseConfigFile, readConfigText, type FileValue } from './config-file.ts'
import type { ConfigFault, Source } from './config-fault.ts'
import { Reader, type Setting } from './reader.ts'
import type { SecretNews } from './live-secret.ts'
import type { Profiles } from './option.ts'

export interface LoadOptions<P extends string> {
  readonly env: Environment
  /** The path of the YAML file; by default, the path in `PIPESPAN_CONFIG`, if set. */
  readonly file?: string | undefined
  /** The content of the configuration file, if it has already been read. */
  readonly text?: string | undefined
  /** The profiles by name. One of them is `generic`, which is the default. */
  readonly profiles: Profiles<P>
  /** The features whose options are read as well. */
  readonly features: readonly HasOptions[]
  /** Called when a secret's file has changed or can no longer be used. The sentence contains no secret. */
  readonly onSecretNews?: SecretNews | undefined
  /** Whether the file for the secret setting at this path, such as `webhook.token`, may be missing at first. */
  readonly mayBeMissing?: ((setting: string) => boolean) | undefined
  readonly clock?: Clock | undefined
  /** Whether the process will listen on a port, as the daemon does; true by default. */
  readonly listens?: boolean | undefined
}

export interface LoadedConfig<P extends string = string> {
  readonly ok: true
  readonly config: Config<P>
  /** Every setting with its value and source, in the order of the option table. */
  readonly settings: readonly Setting[]
  readonly warnings: readonly string[]
}

export interface FaultyConfig {
  readonly ok: false
  readonly faults: readonly ConfigFault[]
  readonly warnings: readonly string[]
}

/** Reads, checks and merges the file, the environment and the defaults. It has no side effects apart from reading files. */
export function loadConfig<P extends string>(options: LoadOptions<P>): LoadedConfig<P> | FaultyConfig {
  const { env, profiles, features } = options
  const table = allOptions(profiles, features)
  const { root, faults: ofFile } = readFile(options)
  const profile = activeProfile(options, root)
  const reader = new Reader({ ...options, profile: profiles[profile] })
  const config = reader.readGroup(table, { entries: root?.entries }) as Config<P>
  const { settings } = reader
  const known = knownVariables(table, profiles)
  const warnings = [
    ...unknownVariables(env, known, config.self.telemetry),
    ...foreignVariables(env, profiles, profile),
    ...overriddenVariables(env, table, profiles[profile]),
  ]
  // Checks across several settings need all values, so they run only if every value could be read.
  const single = [...ofFile, ...reader.faults].toSorted(byPosition)
  if (single.length > 0) return { ok: false, faults: single, warnings }
  const checked = crossChecks({
    config,
    settings,
    listens: options.listens ?? true,
    profile: profiles[profile],
    features,
  })
  warnings.push(...checked.warnings)
  const faults = checked.faults.toSorted(byPosition)
  return faults.length > 0 ? { ok: false, faults, warnings } : { ok: true, config, settings, warnings }
}

/** Sorts faults by their position in the file, so that operators can fix them from top to bottom. Faults in environment variables come last. */
function byPosition({ source: a }: ConfigFault, { source: b }: ConfigFault): number {
  if (a.from === 'file' && b.from === 'file') return a.line - b.line || a.column - b.column
  return Number(a.from !== 'file') - Number(b.from !== 'file')
}

/** Returns the path of the configuration file; undefined if there is none. */
export function pathOf({ env, file }: Pick<LoadOptions<string>, 'env' | 'file'>): string | undefined {
  return file ?? firstSet(env, ['PIPESPAN_CONFIG'])?.text.trim()
}

function readFile({ env, file, text: known }: Pick<LoadOptions<string>, 'env' | 'file' | 'text'>) {
  const path = pathOf({ env, file })
  if (path === undefined) return { faults: [] }
  const text = known ?? readConfigText(path)
  if (typeof text === 'string') return parseConfigFile(text, path)
  const source: Source = file === undefined ? { from: 'environment', variable: 'PIPESPAN_CONFIG' } : { from: 'default' }
  return { faults: [{ source, ...text }] }
}

/**
 * Returns the active profile. It is determined first, because the names of some variables depend on it. An invalid profile is reported later, when
 * its setting is read.
 */
function activeProfile<P extends string>({ env, profiles }: LoadOptions<P>, root: FileValue | undefined): P {
  const inFile = root?.entries?.get('platform')?.value.entries?.get('profile')?.value.raw
  const configured = firstSet(env, ['PIPESPAN_PLATFORM_PROFILE'])?.text ?? inFile
  const names = Object.keys(profiles) as P[]
  return names.find(name => name === String(configured).trim().toLowerCase()) ?? ('generic' as P)
}
