// The rows of the table of options, and the typed configuration that results from a table.
import type { Kind } from './kind.ts'
import type { LiveSecret } from './live-secret.ts'

/** The part of a profile that options need: the names of two variables, the namespace, and the events. */
export interface ProfileVariables {
  readonly variables: { readonly export: string; readonly token: string }
  /** The prefix of the vendor's attributes, with its dot. */
  readonly namespace: string
  /** The values of PIPESPAN_EVENTS. */
  readonly events: readonly string[]
}

export type Profiles<P extends string = string> = Readonly<Record<P, ProfileVariables>>

interface OptionSpec {
  /** Its environment variable, which may depend on the profile. Default: derived from its path by `named`. Items of lists have none. */
  readonly variable?: string | { readonly ofProfile: keyof ProfileVariables['variables'] }
  /** Other spellings of the variable, which take precedence over it, such as `https_proxy` over `HTTPS_PROXY`. */
  readonly spellings?: readonly string[]
  /** The default, as the operator would write it. */
  readonly default?: string
  /** What applies without a value, if that is not simply `none`. */
  readonly unset?: string
  /** What the setting does: a sentence. */
  readonly description?: string
  readonly example?: string
  /** Every item of its list must have it. */
  readonly required?: boolean
  /**
   * A change needs a restart of the daemon, because a reload does not restart everything that uses the setting. `presence`: only if it is set for the
   * first time, or removed.
   */
  readonly restart?: true | 'presence'
  /**
   * The setting protects somebody. A reload does not remove it, because a truncated file looks the same as one from which it was removed. `each`: nor
   * does a reload shorten its list, because each entry hides or excludes something.
   */
  readonly protects?: true | 'each'
  /** The settings without which this one has no effect: paths, each with a sentence that says so. For a setting of an item: paths within the item. */
  readonly needs?: Readonly<Record<string, string>>
  /** It lists projects and groups. Each of several platforms has this setting, too, and each of its tokens uses the entries that the token is for. */
  readonly ofPlatform?: true
  /** The setting has no key in YAML, because it is needed before the file is read. */
  readonly variableOnly?: true
}

/** One setting. Its path in the table, in snake case, is its path in YAML. */
export class Option<V = unknown> {
  /** The type of the value in the configuration; never set. */
  declare readonly becomes: V
  readonly kind: Kind<unknown>
  readonly spec: OptionSpec

  constructor(kind: Kind<unknown>, spec: OptionSpec) {
    this.kind = kind
    this.spec = spec
  }

  /** A copy with this description: a sentence. */
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

/** Groups of options, by the headings of the reference. */
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

/** A setting. With a default, or if it is required, it always has a value. */
export function setting<T>(kind: Kind<T>, spec: OptionSpec & ({ default: string } | { required: true })): Option<T>
export function setting<T>(kind: Kind<T>, spec?: OptionSpec): Option<T | undefined>
export function setting(kind: Kind<unknown>, spec: OptionSpec = {}): Option {
  return new Option(kind, spec)
}

/** A setting that is never shown, may be given as a file, and is read at each use. */
export function secretSetting<T extends object>(kind: Kind<T>, spec: OptionSpec = {}): Option<LiveSecret<T>> {
  return new Option(kind, spec)
}

/** `clientKey` is written `client_key` in YAML. */
export function yamlKey(key: string): string {
  return key.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

export interface Row {
  /** `webhook.token`, `destinations[].name`. */
  readonly path: string
  readonly option: Option
}

/** Every option of a group in the table's order. */
export function rowsOf(group: Group, prefix = ''): Row[] {
  return Object.entries(group).flatMap(([key, entry]) => {
    const path = prefix + yamlKey(key)
    if (entry instanceof Option) return [{ path, option: entry }]
    return entry instanceof Each ? rowsOf(entry.item, `${path}[].`) : rowsOf(entry, `${path}.`)
  })
}

/** A copy in which each option has a variable, except in items of lists: `PIPESPAN_STORE_URL` for `store.url` with the prefix PIPESPAN. */
export function named<G extends Group>(prefix: string, group: G): G {
  const entries = Object.entries(group).map(([key, entry]) => {
    const variable = `${prefix}_${yamlKey(key).toUpperCase()}`
    if (entry instanceof Each) return [key, entry]
    return [key, entry instanceof Option ? new Option(entry.kind, { variable, ...entry.spec }) : named(variable, entry)]
  })
  return Object.fromEntries(entries) as G
}

/** The names of an option's variable under a profile. The first that is set wins. Empty: the option is only in YAML. */
export function variablesOf({ spec }: Option, profile: ProfileVariables): readonly string[] {
  const { variable, spellings = [] } = spec
  if (variable === undefined) return []
  return [...spellings, typeof variable === 'string' ? variable : profile.variables[variable.ofProfile]]
}

/** The entries of both groups. Groups of the same name are joined. */
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
