// The rows of the table of options, and the typed configuration that results from a table.
import type { Kind } from './kind.ts'
import type { LiveSecret } from './live-secret.ts'

/** The part of a profile that options need: the names of two variables, the namespace, and the events. */
export interface ProfileVariables {
  readonly variables: { readonly export: string; readonly token: string }
  /** The prefix of the vendor's attributes, including the dot. */
  readonly namespace: string
  /** The words for events that PIPESPAN_EVENTS may contain. */
  readonly events: readonly string[]
}

export type Profiles<P extends string = string> = Readonly<Record<P, ProfileVariables>>

interface OptionSpec {
  /**
   * The option's environment variable, which may depend on the profile. By default `named` derives it from the option's path. Items of lists have no
   * variables.
   */
  readonly variable?: string | { readonly ofProfile: keyof ProfileVariables['variables'] }
  /** Other spellings of the variable, which take precedence over it, such as `https_proxy` over `HTTPS_PROXY`. */
  readonly spellings?: readonly string[]
  /** The default value, as the operator would write it. */
  readonly default?: string
  /** The behaviour without a value, if `none` does not describe it. */
  readonly unset?: string
  /** A sentence that describes what the setting does. */
  readonly description?: string
  readonly example?: string
  /** Whether every item of the list must have this setting. */
  readonly required?: boolean
  /**
   * Whether a change needs a restart of the daemon, because a reload does not restart everything that uses the setting. `presence`: only if the
   * setting is added or removed.
   */
  readonly restart?: true | 'presence'
  /**
   * Whether the setting protects data or people. A reload does not remove such a setting, because a truncated file looks the same as a file without
   * the setting. `each`: a reload does not shorten its list either, because each entry hides or excludes something.
   */
  readonly protects?: true | 'each'
  /**
   * The settings without which this one has no effect: paths, each with a sentence that explains it. For a setting of an item, the paths are within
   * the item.
   */
  readonly needs?: Readonly<Record<string, string>>
  /**
   * Whether the setting lists projects and groups of a platform. Each of several platforms has this setting too, and each of its tokens uses the
   * entries for its own projects.
   */
  readonly ofPlatform?: true
  /** The setting has no key in YAML, because it is needed before the file is read. */
  readonly variableOnly?: true
}

/** One setting. Its path in the table, in snake case, is its path in YAML. */
export class Option<V = unknown> {
  /** The type of the value in the configuration. This property is never set. */
  declare readonly becomes: V
  readonly kind: Kind<unknown>
  readonly spec: OptionSpec

  constructor(kind: Kind<unknown>, spec: OptionSpec) {
    this.kind = kind
    this.spec = spec
  }

  /** Returns a copy of the option with this description, which is a sentence. */
  describe(description: string): Option<V> {
    return new Option(this.kind, { ...this.spec, description })
  }
}

/** A YAML list of mappings, each with the same settings. */
export class Each<G extends Group = Group> {
  readonly item: G
  readonly description: string

  constructor(item: G, description: string) {
    this.item = item
    this.description = description
  }
}

export interface Group {
  readonly [key: string]: Option | Each | Group
}

/** Groups of options, by the headings of the reference page. */
export type Sections = Readonly<Record<string, Group>>

export type Intersection<U> = (U extends unknown ? (part: U) => void : never) extends (whole: infer I) => void
  ? I
  : never

/** The type of the configuration that results from a group of options. */
export type ConfigOf<G> =
  G extends Option<infer V>
    ? V
    : G extends Each<infer I>
      ? readonly ConfigOf<I>[]
      : { readonly [K in keyof G]: ConfigOf<G[K]> }

/** Makes a setting. With a default, or if it is required, it always has a value. */
export function setting<T>(kind: Kind<T>, spec: OptionSpec & ({ default: string } | { required: true })): Option<T>
export function setting<T>(kind: Kind<T>, spec?: OptionSpec): Option<T | undefined>
export function setting(kind: Kind<unknown>, spec: OptionSpec = {}): Option {
  return new Option(kind, spec)
}

/** Makes a setting for a secret. It is never shown, may be given as a file, and is read at each use. */
export function secretSetting<T extends object>(kind: Kind<T>, spec: OptionSpec = {}): Option<LiveSecret<T>> {
  return new Option(kind, spec)
}

/** Returns the YAML key of a setting: `clientKey` becomes `client_key`. */
export function yamlKey(key: string): string {
  return key.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

export interface Row {
  /** The path of the option, such as `webhook.token` or `destinations[].name`. */
  readonly path: string
  readonly option: Option
}

/** Returns every option of a group in the order of the table. */
export function rowsOf(group: Group, prefix = ''): Row[] {
  return Object.entries(group).flatMap(([key, entry]) => {
    const path = prefix + yamlKey(key)
    if (entry instanceof Option) return [{ path, option: entry }]
    return entry instanceof Each ? rowsOf(entry.item, `${path}[].`) : rowsOf(entry, `${path}.`)
  })
}

/**
 * Returns a copy in which each option has a variable, except in items of lists. With the prefix PIPESPAN, the variable of `store.url` is
 * `PIPESPAN_STORE_URL`.
 */
export function named<G extends Group>(prefix: string, group: G): G {
  const entries = Object.entries(group).map(([key, entry]) => {
    const variable = `${prefix}_${yamlKey(key).toUpperCase()}`
    if (entry instanceof Each) return [key, entry]
    return [key, entry instanceof Option ? new Option(entry.kind, { variable, ...entry.spec }) : named(variable, entry)]
  })
  return Object.fromEntries(entries) as G
}

/**
 * Returns the names of an option's variable under a profile. The first one that is set is used. If the list is empty, the option can only be set in
 * YAML.
 */
export function variablesOf({ spec }: Option, profile: ProfileVariables): readonly string[] {
  const { variable, spellings = [] } = spec
  if (variable === undefined) return []
  return [...spellings, typeof variable === 'string' ? variable : profile.variables[variable.ofProfile]]
}

/** Joins the entries of two groups. Groups with the same name are joined too. */
export function joinedGroups(one: Group, other: Group): Group {
  const joined: Record<string, Option | Each | Group> = { ...one }
  for (const [key, entry] of Object.entries(other)) {
    const known = joined[key]
    if (known !== undefined && !(isGroup(known) && isGroup(entry))) throw new Error(`two options are named ${key}`)
    joined[key] = known !== undefined && isGroup(known) && isGroup(entry) ? joinedGroups(known, entry) : entry
  }
  return joined
}

function isGroup(entry: Option | Each | Group): entry is Group {
  return !(entry instanceof Option) && !(entry instanceof Each)
}
