// Loads the configuration: environment over file over default. It reports everything that is wrong at once.
import { readFileSync, statSync } from 'node:fs'
import type { Clock } from '../../lib/clock.ts'
import { allOptions, type Config, type HasOptions } from './options.ts'
import { crossChecks } from './checks.ts'
import {
  firstSet,
  foreignVariables,
  knownVariables,
  mistypedStandardVariables,
  overriddenVariables,
  unknownVariables,
  type Environment,
} from './variables.ts'
import { isBlank, parseYamlFile, type FileMap } from './yaml-file.ts'
import { quoted, type ConfigFault, type Source, type Wrong } from './config-fault.ts'
import { Reader, type Setting } from './reader.ts'
import type { Profiles } from './option.ts'

/** Larger than any sensible file, so that a wrong path does not fill the memory. */
const maxFileBytes = 1024 * 1024

export interface LoadOptions<P extends string> {
  readonly env: Environment
  /** The YAML file. Default: `PIPESPAN_CONFIG`; without either there is none. */
  readonly file?: string | undefined
  /** The content of that file, if it has been read already. */
  readonly text?: string | undefined
  /** The profiles by name. One is `generic`, the default. */
  readonly profiles: Profiles<P>
  /** Their options are read, too. */
  readonly features: readonly HasOptions[]
  /** Called with a sentence, which has no secret, when a secret's file has changed or can no longer be used. */
  readonly onSecretNews?: ((sentence: string) => void) | undefined
  /** Whether the file of the secret at this path, such as `webhook.token`, may be missing at first. */
  readonly mayBeMissing?: ((setting: string) => boolean) | undefined
  readonly clock?: Clock | undefined
  /** Whether the process will listen, as the daemon does. Default: true. */
  readonly listens?: boolean | undefined
}

export interface LoadedConfig<P extends string = string> {
  readonly ok: true
  readonly config: Config<P>
  /** Every setting with its value and source, in the table's order. */
  readonly settings: readonly Setting[]
  readonly warnings: readonly string[]
}

export interface FaultyConfig {
  readonly ok: false
  readonly faults: readonly ConfigFault[]
  readonly warnings: readonly string[]
}

/** Reads, checks and merges file, environment and defaults. Its only effect is that it reads files. */
export function loadConfig<P extends string>(options: LoadOptions<P>): LoadedConfig<P> | FaultyConfig {
  const { env, profiles, features } = options
  const table = allOptions(profiles, features)
  const file = readFile(options)
  const profile = activeProfile(options, file.root)
  const reader = new Reader({
    env,
    profile: profiles[profile],
    onSecretNews: options.onSecretNews,
    mayBeMissing: options.mayBeMissing,
    clock: options.clock,
  })
  const config = reader.readGroup(table, file.root) as Config<P>
  const { settings, faulty } = reader
  const checked = crossChecks({
    ...{ config, settings, faulty, whole: file.whole, listens: options.listens ?? true },
    ...{ profile: profiles[profile], features },
  })
  const faults = [...file.faults, ...reader.faults, ...checked.faults].toSorted(byPlace)
  const known = knownVariables(table, profiles)
  const warnings = [
    ...unknownVariables(env, known),
    ...mistypedStandardVariables(env, known, config.self.telemetry),
    ...foreignVariables(env, profiles, profile),
    ...overriddenVariables(env, table, profiles[profile]),
    ...checked.warnings,
  ]
  return faults.length > 0 ? { ok: false, faults, warnings } : { ok: true, config, settings, warnings }
}

/** In the order of the file, so that they can be mended from top to bottom; variables after it. */
function byPlace({ source: a }: ConfigFault, { source: b }: ConfigFault): number {
  if (a.from === 'file' && b.from === 'file') return a.line - b.line || a.column - b.column
  return Number(a.from !== 'file') - Number(b.from !== 'file')
}

interface ReadFile {
  readonly root?: FileMap
  /** Whether all that the file says is known. */
  readonly whole: boolean
  readonly faults: readonly ConfigFault[]
}

/** The path of the configuration file; undefined: there is none. */
export function pathOf({ env, file }: Pick<LoadOptions<string>, 'env' | 'file'>): string | undefined {
  return file ?? firstSet(env, ['PIPESPAN_CONFIG'])?.text.trim()
}

function readFile({ env, file, text: known }: Pick<LoadOptions<string>, 'env' | 'file' | 'text'>): ReadFile {
  const path = pathOf({ env, file })
  if (path === undefined) return { whole: true, faults: [] }
  const text = known ?? readConfigText(path)
  if (typeof text === 'object') {
    const source: Source =
      file === undefined ? { from: 'environment', variable: 'PIPESPAN_CONFIG' } : { from: 'default' }
    return { whole: false, faults: [{ source, ...text }] }
  }
  const { root, faults } = parseYamlFile(text, path)
  // A file that is being written is empty for a moment. Without settings the daemon would be open to everybody.
  if (faults.length === 0 && (root === undefined || isBlank(root))) {
    const source: Source = { from: 'file', file: path, line: 1, column: 1 }
    const remedy = 'Write at least one, or start without a configuration file.'
    return { whole: false, faults: [{ source, what: 'The file has no settings.', remedy }] }
  }
  return { ...(root === undefined ? {} : { root }), whole: faults.length === 0, faults }
}

/** The text of the file, or why there is none. */
export function readConfigText(path: string): string | Wrong {
  const remedy = 'Use a YAML file that this process can read.'
  try {
    const stats = statSync(path)
    if (!stats.isFile() || stats.size > maxFileBytes) {
      return { what: `The configuration file ${quoted(path)} is not a regular file of at most 1 MiB.`, remedy }
    }
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    return { what: `The configuration file ${quoted(path)} cannot be read (${code}).`, remedy }
  }
}

/** Needed first, because the profile names some variables. A wrong one becomes a fault later, when its own setting is read. */
function activeProfile<P extends string>({ env, profiles }: LoadOptions<P>, root: FileMap | undefined): P {
  const group = root?.entries.get('platform')?.value
  const entry = group?.is === 'map' ? group.entries.get('profile')?.value : undefined
  const said = firstSet(env, ['PIPESPAN_PLATFORM_PROFILE'])?.text ?? (entry?.is === 'text' ? entry.text : undefined)
  const names = Object.keys(profiles) as P[]
  return names.find(name => name === said?.trim().toLowerCase()) ?? ('generic' as P)
}
