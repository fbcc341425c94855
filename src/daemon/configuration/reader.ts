// Reads the options of a group one by one: environment over file over default. Collects what is wrong; never throws.
import type { Clock } from '../../lib/clock.ts'
import type { ConfigFault, Source, Wrong } from './config-fault.ts'
import { Each, Option, rowsOf, variablesOf, yamlKey, type Group, type ProfileVariables } from './option.ts'
import { firstSet, type Environment } from './variables.ts'
import type { FileMap, FileValue } from './yaml-file.ts'
import type { Parsed } from './kind.ts'
import { LiveSecret } from './live-secret.ts'
import { nearest } from './nearest.ts'

export interface Setting {
  /** `webhook.token`, `destinations[0].name`. */
  readonly path: string
  readonly option: Option
  /** The value in the configuration; for a secret, its LiveSecret. Undefined if there is none. */
  readonly value: unknown
  readonly source: Source
}

export interface ReaderOptions {
  readonly env: Environment
  readonly profile: ProfileVariables
  readonly onSecretNews?: ((sentence: string) => void) | undefined
  readonly mayBeMissing?: ((setting: string) => boolean) | undefined
  readonly clock?: Clock | undefined
}

/** A longer list of known keys does not help. */
const maxListed = 20

/** A value as it was given, or the path of the file that has it. */
type Given = { readonly source: Source } & ({ readonly raw: unknown } | { readonly secretFile: string })

export class Reader {
  readonly faults: ConfigFault[] = []
  readonly settings: Setting[] = []
  /** Paths of the options whose given value is wrong. */
  readonly faulty = new Set<string>()
  readonly #options: ReaderOptions

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** The configuration of a group. `map`: the group in the file, if it is there. */
  readGroup(group: Group, map: FileMap | undefined, prefix = ''): Record<string, unknown> {
    this.#reportUnknownKeys(group, map, prefix)
    const read = Object.entries(group).map(([key, entry]) => {
      const path = prefix + yamlKey(key)
      if (entry instanceof Option) return [key, this.#readOption(entry, path, map)]
      const value = map?.entries.get(yamlKey(key))?.value
      if (entry instanceof Each) return [key, this.#readItems(entry, value, path)]
      return [key, this.readGroup(entry, this.#asMap(value, entry, path), `${path}.`)]
    })
    return Object.fromEntries(read) as Record<string, unknown>
  }

  #readItems(each: Each, value: FileValue | undefined, path: string): Record<string, unknown>[] {
    if (value === undefined || value.is === 'blank') return []
    if (value.is !== 'list') {
      const remedy = `Write it as a list: a line "- ${keysOf(each.item)[0] ?? ''}: …" for each.`
      this.#fault(path, value.source, { what: 'This is not a list.', remedy })
      return []
    }
    return value.items.map((item, index) => {
      const place = `${path}[${index}]`
      const map = this.#asMap(item, each.item, place) ?? { is: 'map', source: item.source, entries: new Map() }
      return this.readGroup(each.item, map, `${place}.`)
    })
  }

  #asMap(value: FileValue | undefined, group: Group, path: string): FileMap | undefined {
    if (value === undefined || value.is === 'blank') return undefined
    if (value.is === 'map') return value
    for (const row of rowsOf(group, `${path}.`)) this.faulty.add(row.path)
    const remedy = `Write its settings under it, indented: ${keysOf(group).join(', ')}.`
    this.#fault(path, value.source, { what: 'This is a group of settings, not a single setting.', remedy })
    return undefined
  }

  #reportUnknownKeys(group: Group, map: FileMap | undefined, prefix: string): void {
    const known = keysOf(group)
    for (const [name, { key }] of map?.entries ?? []) {
      if (known.includes(name)) continue
      const meant = nearest(name, known)
      const all =
        known.length > maxListed
          ? 'See config/REFERENCE.md for all of them.'
          : `Known settings here: ${known.join(', ')}.`
      const remedy = meant === undefined ? all : `Did you mean ${prefix}${meant}?`
      this.#fault(prefix + name, key, { what: 'Unknown setting.', remedy })
    }
  }

  #readOption(option: Option, path: string, map: FileMap | undefined): unknown {
    const inFile = this.#givenInFile(option, path, map)
    const given = this.#givenInEnvironment(option, path) ?? inFile
    const value = given === undefined ? this.#unset(option, path, map) : this.#take(option, path, given)
    if (inFile !== undefined && inFile !== given) this.#checkOverridden(option, path, inFile)
    this.settings.push({ path, option, value, source: given?.source ?? { from: 'default' } })
    return value
  }

  #take(option: Option, path: string, given: Given): unknown {
    const parsed = this.#parse(option, path, given)
    if ('value' in parsed) return parsed.value
    this.#fault(path, given.source, parsed.wrong)
    return option.kind.secret ? LiveSecret.fixed(undefined) : undefined
  }

  #parse({ kind }: Option, setting: string, given: Given): Parsed<unknown> {
    if ('secretFile' in given) {
      const { onSecretNews: onNews, clock, mayBeMissing } = this.#options
      const path = given.secretFile
      return LiveSecret.fromFile({ path, kind, onNews, clock, mayBeMissing: mayBeMissing?.(setting) })
    }
    const parsed = kind.parse(given.raw)
    return 'value' in parsed && kind.secret ? { value: LiveSecret.fixed(parsed.value) } : parsed
  }

  /** A wrong value in the file is a fault even if a variable overrides it: the variable may be gone tomorrow. */
  #checkOverridden({ kind }: Option, path: string, given: Given): void {
    const parsed = 'raw' in given ? kind.parse(given.raw) : undefined
    if (parsed !== undefined && 'wrong' in parsed) this.#fault(path, given.source, parsed.wrong)
  }

  #unset({ kind, spec }: Option, path: string, map: FileMap | undefined): unknown {
    if (spec.required === true && map !== undefined && !this.faulty.has(path)) {
      this.#fault(path, map.source, { what: 'It is missing.', remedy: 'Every item of the list needs one.' })
    }
    if (kind.secret) return LiveSecret.fixed(undefined)
    const parsed = spec.default === undefined ? undefined : kind.parse(spec.default)
    return parsed !== undefined && 'value' in parsed ? parsed.value : undefined
  }

  #givenInEnvironment(option: Option, path: string): Given | undefined {
    const names = variablesOf(option, this.#options.profile)
    const inline = firstSet(this.#options.env, names)
    const files = option.kind.secret ? names.map(name => `${name}_FILE`) : []
    const filed = firstSet(this.#options.env, files)
    if (inline !== undefined && filed !== undefined) {
      this.#fault(path, { from: 'environment', variable: inline.variable }, bothGiven(inline.variable, filed.variable))
    }
    if (inline !== undefined) {
      return { source: { from: 'environment', variable: inline.variable }, raw: inline.text }
    }
    if (filed === undefined) return undefined
    return { source: { from: 'environment', variable: filed.variable }, secretFile: filed.text.trim() }
  }

  #givenInFile(option: Option, path: string, map: FileMap | undefined): Given | undefined {
    if (option.spec.variableOnly === true) return undefined
    const key = path.slice(path.lastIndexOf('.') + 1)
    const inline = map?.entries.get(key)?.value
    const filed = option.kind.secret ? map?.entries.get(`${key}_file`)?.value : undefined
    const raw = inline === undefined ? undefined : this.#rawOf(inline)
    const file = filed === undefined ? undefined : this.#rawOf(filed)
    if (inline !== undefined && filed !== undefined && raw !== undefined && file !== undefined) {
      this.#fault(path, inline.source, bothGiven(path, `${path}_file`))
    }
    if (inline !== undefined && raw !== undefined) return { source: inline.source, raw }
    if (filed === undefined || file === undefined) return undefined
    if (typeof file === 'string') return { source: filed.source, secretFile: file }
    this.#fault(`${path}_file`, filed.source, { what: 'This is not the path of a file.', remedy: 'Write one path.' })
    this.faulty.add(path)
    return undefined
  }

  /** Undefined for a blank value, and for one that is nested too deeply. */
  #rawOf(value: FileValue): unknown {
    if (value.is === 'blank') return undefined
    if (value.is === 'text') return value.text
    return plainOf(value)
  }

  #fault(path: string, source: Source, { what, remedy }: Wrong): void {
    this.faulty.add(path)
    this.faults.push({ source, setting: path, what, remedy })
  }
}

/** Texts, lists and mappings. */
function plainOf(value: FileValue): unknown {
  if (value.is === 'map') return Object.fromEntries([...value.entries].map(([key, one]) => [key, plainOf(one.value)]))
  if (value.is === 'list') return value.items.map(plainOf)
  return value.is === 'text' ? value.text : ''
}

function bothGiven(value: string, file: string): Wrong {
  return { what: `Both ${value} and ${file} are given.`, remedy: 'Keep one of the two.' }
}

/** The YAML keys of a group; a secret has two. */
function keysOf(group: Group): string[] {
  return Object.entries(group).flatMap(([name, entry]) => {
    const key = yamlKey(name)
    if (!(entry instanceof Option)) return [key]
    if (entry.spec.variableOnly === true) return []
    return entry.kind.secret ? [key, `${key}_file`] : [key]
  })
}
