// The rows of the option table, and the typed configuration derived from them.
import type { Kind } from './kind.ts'
import type { LiveSecret } from './live-secret.ts'

/** The part of a profile that the options need: the names of two variables, the namespace, and the events. */
export interface ProfileVariables {
  readonly variables: { readonly export: string; readonly token: string }
  /** The prefix of vendor-specific attributes, including the dot. */
  readonly namespace: string
  /** The names of events that are allowed in PIPESPAN_EVENTS. */
  readonly events: readonly string[]
}

export type Profiles<P extends string = string> = Readonly<Record<P, ProfileVariables>>

interface OptionSpec {
  /**
   * The option's environment variable, which may depend on the profile. By default, `named` derives it from the option's path. List items have no
   * variables.
   */
  readonly variable?: string | { readonly ofProfile: keyof ProfileVariables['variables'] }
  /** Alternative spellings of the variable that take precedence over it, such as `https_proxy` over `HTTPS_PROXY`. */
  readonly spellings?: readonly string[]
  /** The default value, as the operator would write it. */
  readonly default?: string
  /** A description of what happens if the option is not set. If it is omitted, only `none` is shown. */
  readonly unset?: string
  /** A sentence about what the setting does. */
  readonly description?: string
  readonly example?: string
  /** Whether the setting is required in every item of the list. */
  readonly required?: boolean
  /**
   * Whether changing the setting requires a restart of the daemon, because a reload does not restart everything that uses the setting. `presence`:
   * only if the setting is added or removed.
   */
  readonly restart?: true | 'presence'
  /**
   * Whether the setting protects data or people. A reload never removes such a setting, because a truncated file looks the same as a file without the
   * setting. `each`: a reload does not shorten its list either, because each entry hides or excludes something.
   */
  readonly protects?: true | 'each'
  /**
   * The settings without which this one has no effect: their paths, each with an explanatory sentence. For settings of list items, the paths are
   * relative to the item.
   */
  readonly needs?: Readonly<Record<string, string>>
  /**
   * Whether the setting lists a platform's projects and groups. If there are several platforms, each of them has this setting as well, and each of
   * its tokens uses the entries for its own projects.
   */
  readonly ofPlatform?: true
  /** Whether the setting has no YAML key, because it is needed before the file is read. */
  readonly variableOnly?: true
}

/** A single setting. Its path in the option table, in snake case, is its path in YAML. */
export class Option<V = unknown> {
  /** The type of the value in the configuration. This property exists only for the type checker and is never set. */
  declare readonly becomes: V
  readonly kind: Kind<unknown>
  readonly spec: OptionSpec

  constructor(kind: Kind<unknown>, spec: OptionSpec) {
    this.kind = kind
    this.spec = spec
  }

  /** Returns a copy of the option with this description. The description must be a sentence. */
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

/** Groups of options, keyed by their heading on the reference page. */
export type Sections = Readonly<Record<string, Group>>

export type Intersection<U> = (U extends unknown ? (part: U) => void : never) extends (whole: infer I) => void
  ? I
  : never

/** The configuration type derived from a group of options. */
export type ConfigOf<G> =
  G extends Option<infer V>
    ? V
    : G extends Each<infer I>
      ? readonly ConfigOf<I>[]
      : { readonly [K in keyof G]: ConfigOf<G[K]> }

/** Creates a setting. If it has a default or is required, it always has a value. */
export function setting<T>(kind: Kind<T>, spec: OptionSpec & ({ default: string } | { required: true })): Option<T>
export function setting<T>(kind: Kind<T>, spec?: OptionSpec): Option<T | undefined>
export function setting(kind: Kind<unknown>, spec: OptionSpec = {}): Option {
  return new Option(kind, spec)
}

/** Creates a setting for a secret. It is never shown, can be read from a file, and is looked up on each use. */
export function secretSetting<T extends object>(kind: Kind<T>, spec: OptionSpec = {}): Option<LiveSecret<T>> {
  return new Option(kind, spec)
}

/** Returns the YAML key of a setting: `clientKey` becomes `client_key`. */
export function yamlKey(key: string): string {
  return key.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

export interface Row {
  /** The option's path, such as `webhook.token` or `destinations[].name`. */
  readonly path: string
  readonly option: Option
}

/** Returns all options of a group, in the order of the option table. */
export function rowsOf(group: Group, prefix = ''): Row[] {
  return Object.entries(group).flatMap(([key, entry]) => {
    const path = prefix + yamlKey(key)
    if (entry instanceof Option) return [{ path, option: entry }]
    return entry instanceof Each ? rowsOf(entry.item, `${path}[].`) : rowsOf(entry, `${path}.`)
  })
}

/**
 * Returns a copy of the group in which each option has a variable, except in list items. With the prefix PIPESPAN, the variable of `store.url` is
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
 * Returns the variable names for an option under a profile. The first variable that is set is used. If the list is empty, the option can only be set
 * in YAML.
 */
export function variablesOf({ spec }: Option, profile: ProfileVariables): readonly string[] {
  const { variable, spellings = [] } = spec
  if (variable === undefined) return []
  return [...spellings, typeof variable === 'string' ? variable : profile.variables[variable.ofProfile]]
}

/** Merges the entries of two groups, including their subgroups with the same name. */
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
