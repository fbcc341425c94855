// Environment variables: which variable sets which option, which variables were probably mistyped, and how --help lists them.
import { nearest } from './config-fault.ts'
import { rowsOf, variablesOf, type Group, type ProfileVariables, type Profiles, type Row } from './option.ts'
import { optionSections, type HasOptions } from './options.ts'
import { signals } from './telemetry-options.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Returns the first of these variables that is set and not blank. */
export function firstSet(env: Environment, names: readonly string[]): { variable: string; text: string } | undefined {
  for (const variable of names) {
    const text = env[variable]
    if (text !== undefined && text.trim() !== '') return { variable, text }
  }
  return undefined
}

/** Returns every variable that sets an option under any profile, including the `_FILE` variants of secrets. */
export function knownVariables(options: Group, profiles: Profiles): Set<string> {
  const names = rowsOf(options).flatMap(({ option }) =>
    Object.values(profiles)
      .flatMap(profile => variablesOf(option, profile))
      .flatMap(name => (option.kind.secret ? [name, `${name}_FILE`] : [name])),
  )
  return new Set(names)
}

/**
 * The variable prefixes that belong to settings. A variable with such a prefix that sets no option is reported, unless it matches `others`, which are
 * further variables of the OpenTelemetry specification.
 */
const families: readonly { readonly prefix: string; readonly otherwise: string; readonly others?: RegExp }[] = [
  { prefix: 'PIPESPAN_', otherwise: 'Remove it; config/REFERENCE.md lists all variables.' },
  {
    prefix: 'OTEL_EXPORTER_OTLP_',
    otherwise: 'config/REFERENCE.md lists all variables.',
    others:
      /^((TRACES|METRICS|LOGS|PROFILES|SPAN|METRIC)_)?INSECURE$|^PROFILES_|^METRICS_DEFAULT_HISTOGRAM_AGGREGATION$/,
  },
]

/** The maximum number of edits for a likely typo. A variable that differs more may belong to another program. */
const maxTypoEdits = 2

/** Matches the variables that Kubernetes sets for each service in a namespace, here for services whose names start with `pipespan`. */
const serviceLink = /^PIPESPAN_(.*_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/

/**
 * Returns warnings about variables that are not read but were probably meant as settings. `selfTelemetry`: whether the SDK exports the daemon's own
 * telemetry.
 */
export function unknownVariables(env: Environment, known: ReadonlySet<string>, selfTelemetry: boolean): string[] {
  const unknown = Object.keys(env)
    .filter(name => /^(PIPESPAN|OTEL)_/.test(name) && !known.has(name) && !isOthers(name))
    .filter(name => firstSet(env, [name]) !== undefined)
    .sort()
  const links = unknown.filter(name => serviceLink.test(name) || isServicePort(name, env[name] ?? ''))
  const warnings = unknown
    .filter(name => !links.includes(name))
    .flatMap(name => {
      const why = whyUnknown(name, known) ?? (selfTelemetry && env[name] !== 'otlp' ? unused : undefined)
      return why === undefined ? [] : [`${name}: ${why}`]
    })
  if (links.length === 0) return warnings
  const sentence = 'Kubernetes service links, which are not settings. Set enableServiceLinks: false to remove them.'
  return [...warnings, `${links.join(', ')}: ${sentence}`]
}

const unused = "Not used for the daemon's own telemetry. Remove it; config/REFERENCE.md lists all variables."

function isOthers(name: string): boolean {
  return families.some(({ prefix, others }) => name.startsWith(prefix) && others?.test(name.slice(prefix.length)))
}

/** Returns why a variable is unknown and how to fix it; undefined if it may belong to another program. */
function whyUnknown(name: string, known: ReadonlySet<string>): string | undefined {
  const family = families.find(({ prefix }) => name.startsWith(prefix))
  // Variable names are compared without their prefix, because the same prefix would make all of them similar.
  const { prefix, otherwise } = family ?? { prefix: 'OTEL_', otherwise: undefined }
  const [rest, ...own] = [name, ...[...known].filter(one => one.startsWith(prefix))].map(one =>
    one.slice(prefix.length),
  )
  if (rest === undefined) return undefined
  const meant = nearest(rest, own, family === undefined ? maxTypoEdits : undefined)
  const remedy = meant === undefined ? otherwise : `Did you mean ${prefix}${meant}?`
  return remedy && `Unknown variable. ${remedy}`
}

function isServicePort(name: string, value: string): boolean {
  return /^PIPESPAN_(.*_)?PORT$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value)
}

/** Returns warnings about variables that are ignored because another name of the same option is set to a different value. */
export function overriddenVariables(env: Environment, options: Group, profile: ProfileVariables): string[] {
  return rowsOf(options).flatMap(({ option }) => {
    const names = variablesOf(option, profile)
    return [names, names.map(name => `${name}_FILE`)].flatMap(spelled => {
      const [used, ...others] = spelled.filter(name => firstSet(env, [name]) !== undefined)
      return others
        .filter(name => used !== undefined && env[name] !== env[used])
        .map(name => `${name}: Ignored, because ${used} is set to another value. Keep one of the two.`)
    })
  })
}

/** Returns warnings about variables that only another profile reads. */
export function foreignVariables<P extends string>(env: Environment, profiles: Profiles<P>, active: P): string[] {
  const own = profiles[active].variables
  return (Object.keys(profiles) as P[])
    .filter(name => name !== active)
    .flatMap(name => {
      const { variables } = profiles[name]
      const pairs = [
        [variables.export, own.export],
        [variables.token, own.token],
        [`${variables.token}_FILE`, `${own.token}_FILE`],
      ] as const
      return pairs
        .filter(([variable]) => firstSet(env, [variable]) !== undefined)
        .map(
          ([variable, replacement]) =>
            `${variable}: Only used with the platform profile ${name}, but the profile is ${active}. ` +
            `Set PIPESPAN_PLATFORM_PROFILE=${name}, or use ${replacement}.`,
        )
    })
}

const opening = `Environment variables override the configuration file; a blank variable counts as unset. A secret (marked *) can be given as a file: NAME_FILE.`

/** Returns the help text about variables, with the variable names of one profile. Signal-specific variables are only summarized. */
export function environmentHelp(
  profiles: Profiles,
  profile: ProfileVariables,
  features: readonly HasOptions[],
): string {
  const sections = Object.entries(optionSections(profiles, features)).map(([heading, group]) => {
    const lines = rowsOf(group)
      .filter(isGeneral)
      .flatMap(row => linesOf(row, profile))
    return [`${heading}:`, ...lines].join('\n')
  })
  const perSignal = signals.map(signal => `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_…`).join(', ')
  return [opening, ...sections, `Every OTEL_EXPORTER_OTLP_… setting for one signal alone:\n  ${perSignal}`].join('\n\n')
}

function isGeneral({ path }: Row): boolean {
  return !signals.some(signal => path.startsWith(`otlp.${signal}.`))
}

function linesOf({ option }: Row, profile: ProfileVariables): string[] {
  const [name] = variablesOf(option, profile).slice(-1)
  if (name === undefined) return []
  const { default: standard, unset, description } = option.spec
  const holds = standard ?? unset
  const text = `${description}${holds === undefined ? '' : ` Default: ${holds}.`}`.replaceAll('`', '')
  return [`  ${name}${option.kind.secret ? ' *' : ''}`, `      ${text}`]
}
