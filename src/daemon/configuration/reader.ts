// Reads the options of a group one by one: from the environment, otherwise from the file, otherwise the default. It collects faults and never throws.
// It also prints the values.
import type { Clock } from '../../lib/clock.ts'
import { type ConfigFault, type Source, type Wrong, nearest, describeSource } from './config-fault.ts'
import { Each, Option, variablesOf, yamlKey, type Group, type ProfileVariables } from './option.ts'
import { firstSet, type Environment } from './variables.ts'
import type { FileValue } from './config-file.ts'
import type { Parsed } from './kind.ts'
import { LiveSecret, type SecretNews } from './live-secret.ts'

export interface Setting {
  /** The path of the setting, such as `webhook.token` or `destinations[0].name`. */
  readonly path: string
  readonly option: Option
  /** The setting's value in the configuration; for a secret, its LiveSecret. Undefined if there is none. */
  readonly value: unknown
  readonly source: Source
}

export interface ReaderOptions {
  readonly env: Environment
  readonly profile: ProfileVariables
  readonly onSecretNews?: SecretNews | undefined
  readonly mayBeMissing?: ((setting: string) => boolean) | undefined
  readonly clock?: Clock | undefined
}

/** The maximum number of known keys listed in a message. A longer list does not help. */
const maxListed = 20

/** A value as the operator wrote it, or the path of the file that contains it. */
type Given = { readonly source: Source } & ({ readonly raw: unknown } | { readonly secretFile: string })

/** Where in the file a group of settings is read from: a mapping, or an empty list item. */
interface Place {
  readonly entries: FileValue['entries']
  /** The line and column of the list item, if the group is a list item. */
  readonly item?: Source
}

export class Reader {
  readonly faults: ConfigFault[] = []
  readonly settings: Setting[] = []
  readonly #options: ReaderOptions

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** Returns the configuration of an option group. If there are faults, some values are missing despite their types. */
  readGroup(group: Group, place: Place, prefix = ''): Record<string, unknown> {
    const { entries } = place
    this.#reportUnknownKeys(group, entries, prefix)
    const read = Object.entries(group).map(([key, entry]): [string, unknown] => {
      const path = prefix + yamlKey(key)
      if (entry instanceof Option) return [key, this.#readOption(entry, path, place)]
      const value = entries?.get(yamlKey(key))?.value
      if (entry instanceof Each) return [key, this.#readItems(entry, value, path)]
      return [key, this.readGroup(entry, { entries: this.#entriesOf(value, entry, path) }, `${path}.`)]
    })
    return Object.fromEntries(read)
  }

  #readItems({ item: group }: Each, value: FileValue | undefined, path: string): Record<string, unknown>[] {
    if (value === undefined || value.isBlank) return []
    if (value.items === undefined) {
      const remedy = `Write it as a list: a line "- ${keysOf(group)[0] ?? ''}: …" for each.`
      this.#fault(path, value.source, { what: 'This is not a list.', remedy })
    }
    return (value.items ?? []).map((item, index) => {
      const place = `${path}[${index}]`
      return this.readGroup(group, { entries: this.#entriesOf(item, group, place), item: item.source }, `${place}.`)
    })
  }

  #entriesOf(value: FileValue | undefined, group: Group, path: string): FileValue['entries'] {
    if (value === undefined || value.isBlank || value.entries !== undefined) return value?.entries
    const remedy = `Write its settings under it, indented: ${keysOf(group).join(', ')}.`
    this.#fault(path, value.source, { what: 'This is a group of settings, not a single setting.', remedy })
    return undefined
  }

  #reportUnknownKeys(group: Group, entries: FileValue['entries'], prefix: string): void {
    const known = keysOf(group)
    const isShort = known.length <= maxListed
    const all = isShort ? `Known settings here: ${known.join(', ')}.` : 'See config/REFERENCE.md for all of them.'
    for (const [name, { key }] of entries ?? []) {
      if (known.includes(name)) continue
      const meant = nearest(name, known)
      const remedy = meant === undefined ? all : `Did you mean ${prefix}${meant}?`
      this.#fault(prefix + name, key, { what: 'Unknown setting.', remedy })
    }
  }

  #readOption(option: Option, path: string, place: Place): unknown {
    const { kind, spec } = option
    const inFile = spec.variableOnly === true ? undefined : this.#givenInFile(option, path, place)
    const given = this.#givenInEnvironment(option, path) ?? inFile
    if (given === undefined && spec.required === true && place.item !== undefined)
      this.#fault(path, place.item, { what: 'It is missing.', remedy: 'Every item of the list needs one.' })
    const standard = spec.default === undefined ? { value: undefined } : kind.parse(spec.default)
    const read = given === undefined ? standard : this.#parse(option, path, given)
    if ('wrong' in read && given !== undefined) this.#fault(path, given.source, read.wrong)
    // An invalid value in the file is a fault even if a variable overrides it, because the variable may be removed later.
    if (inFile !== undefined && inFile !== given && 'raw' in inFile) {
      const overridden = kind.parse(inFile.raw)
      if ('wrong' in overridden) this.#fault(path, inFile.source, overridden.wrong)
    }
    const found = 'value' in read ? read.value : undefined
    const value = kind.secret && !(found instanceof LiveSecret) ? LiveSecret.fixed(found) : found
    this.settings.push({ path, option, value, source: given?.source ?? { from: 'default' } })
    return value
  }

  #parse({ kind }: Option, setting: string, given: Given): Parsed<unknown> {
    if ('raw' in given) return kind.parse(given.raw)
    const { onSecretNews: onNews, clock, mayBeMissing } = this.#options
    return LiveSecret.fromFile({
      ...{ path: given.secretFile, kind, onNews, clock },
      mayBeMissing: mayBeMissing?.(setting),
    })
  }

  #givenInEnvironment(option: Option, path: string): Given | undefined {
    const names = variablesOf(option, this.#options.profile)
    const inline = firstSet(this.#options.env, names)
    const files = option.kind.secret ? names.map(name => `${name}_FILE`) : []
    const filed = firstSet(this.#options.env, files)
    if (inline !== undefined) {
      const source = { from: 'environment', variable: inline.variable } as const
      if (filed !== undefined) this.#fault(path, source, bothGiven(inline.variable, filed.variable))
      return { source, raw: inline.text }
    }
    if (filed === undefined) return undefined
    return { source: { from: 'environment', variable: filed.variable }, secretFile: filed.text.trim() }
  }

  #givenInFile({ kind }: Option, path: string, { entries }: Place): Given | undefined {
    const at = (key: string): FileValue | undefined => {
      const value = entries?.get(key)?.value
      return value === undefined || value.isBlank ? undefined : value
    }
    const key = path.slice(path.lastIndexOf('.') + 1)
    const inline = at(key)
    const filed = kind.secret ? at(`${key}_file`) : undefined
    if (inline !== undefined) {
      if (filed !== undefined) this.#fault(path, inline.source, bothGiven(path, `${path}_file`))
      return { source: inline.source, raw: inline.raw }
    }
    if (filed === undefined) return undefined
    if (typeof filed.raw === 'string') return { source: filed.source, secretFile: filed.raw }
    this.#fault(`${path}_file`, filed.source, { what: 'This is not a file path.', remedy: 'Write one path.' })
    return undefined
  }

  #fault(setting: string, source: Source, wrong: Wrong): void {
    this.faults.push({ source, setting, ...wrong })
  }
}

function bothGiven(value: string, file: string): Wrong {
  return { what: `Both ${value} and ${file} are given.`, remedy: 'Keep one of the two.' }
}

/** Returns the YAML keys of an option group. A secret has two keys. */
function keysOf(group: Group): string[] {
  return Object.entries(group).flatMap(([name, entry]) => {
    const key = yamlKey(name)
    if (!(entry instanceof Option)) return [key]
    if (entry.spec.variableOnly === true) return []
    return entry.kind.secret ? [key, `${key}_file`] : [key]
  })
}

/** Prints one line per setting: `settle = 5s (default)`. */
export function describeConfig({ settings }: { readonly settings: readonly Setting[] }): string {
  return settings.map(setting => `${setting.path} = ${shown(setting)} (${describeSource(setting.source)})`).join('\n')
}

/** Returns the value as the operator would write it, or a description of the behaviour if there is no value. */
export function shown({ option: { kind, spec }, value }: Pick<Setting, 'option' | 'value'>): string {
  const current = value instanceof LiveSecret ? (value as LiveSecret<unknown>).current() : value
  if (current !== undefined) return kind.show(current)
  return spec.unset === undefined ? 'none' : `none: ${spec.unset.replaceAll('`', '')}`
}
