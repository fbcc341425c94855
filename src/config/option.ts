// What one row of the table of options says, and the typed configuration that a table of such rows becomes.
import type { Kind } from './kind.ts'
import type { LiveSecret } from './live-secret.ts'

/** What the platform's profile decides: the names of the two CI/CD variables, and which of its events there are. */
export interface ProfileVariables {
  readonly variables: { readonly export: string; readonly token: string }
  /** The words of PIPESPAN_EVENTS. */
  readonly events: readonly string[]
  /** The keys of `inventory`, and what is said of each. */
  readonly inventory: readonly InventoryKind[]
}

export interface InventoryKind {
  readonly kind: string
  /** What is named: `projects`. */
  readonly of: string
  readonly says: string
  /** ms. */
  readonly every: number
  readonly requests: string
  readonly role: string
}

export type Profiles<P extends string = string> = Readonly<Record<P, ProfileVariables>>

export interface OptionSpec {
  /** Its environment variable; the profile names some. Absent: YAML only. */
  readonly variable?: string | { readonly ofProfile: keyof ProfileVariables['variables'] }
  /** Other spellings of the variable; the variable itself gives way to them. */
  readonly spellings?: readonly string[]
  /** The default in the operator's notation. */
  readonly default?: string
  /** What holds without a value, in words, where that is not simply `none`. */
  readonly unset?: string
  /** What it does: a sentence. */
  readonly says: string
  readonly example?: string
  /** Must be given: an item of a list is nothing without it. */
  readonly required?: boolean
  /** No key in YAML: it is needed before the file is read. */
  readonly variableOnly?: true
}

/** One setting. Its key in YAML is its place in the table, in snake case. */
export class Option<V = unknown> {
  /** The type of the value in the configuration; never set. */
  declare readonly becomes: V
  readonly kind: Kind<unknown>
  readonly spec: OptionSpec

  constructor(kind: Kind<unknown>, spec: OptionSpec) {
    this.kind = kind
    this.spec = spec
  }
}

/** A YAML list of mappings, each with the same settings. */
export class Each<G extends Group = Group> {
  readonly item: G
  readonly says: string

  constructor(item: G, says: string) {
    this.item = item
    this.says = says
  }
}

export interface Group {
  readonly [key: string]: Option | Each | Group
}

/** The configuration that a group of options becomes. */
export type ConfigOf<G> =
  G extends Option<infer V>
    ? V
    : G extends Each<infer I>
      ? readonly ConfigOf<I>[]
      : { readonly [K in keyof G]: ConfigOf<G[K]> }

/** A setting that always has a value, or may have none. */
export function setting<T>(kind: Kind<T>, spec: OptionSpec & ({ default: string } | { required: true })): Option<T>
export function setting<T>(kind: Kind<T>, spec: OptionSpec): Option<T | undefined>
export function setting(kind: Kind<unknown>, spec: OptionSpec): Option {
  return new Option(kind, spec)
}

/** A setting that must not be seen, may be given as a file, and is read when it is used. */
export function secretSetting<T extends object>(kind: Kind<T>, spec: OptionSpec): Option<LiveSecret<T>> {
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

/** The names of an option's variable under a profile, the strongest first; none: YAML only. */
export function variablesOf({ spec }: Option, profile: ProfileVariables): readonly string[] {
  const { variable, spellings = [] } = spec
  if (variable === undefined) return []
  return [...spellings, typeof variable === 'string' ? variable : profile.variables[variable.ofProfile]]
}
