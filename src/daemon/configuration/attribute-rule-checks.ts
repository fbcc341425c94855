// Checks across the rules that set attributes: what is wrong in them, and which of them can never match.
import { globs } from '../../lib/chooser.ts'
import { describeSource, type ConfigFault, type FaultOf, type Source } from './config-fault.ts'
import { reservedName, maxCustomAttributes, maxVariables } from './attribute-rule-options.ts'
import type { Config } from './options.ts'
import type { ProfileVariables } from './option.ts'

type Rule = Config['attributes']['rules'][number]

interface Choice {
  readonly include?: readonly string[] | undefined
  readonly exclude?: readonly string[] | undefined
}

const removal = 'Remove those that nobody asks for.'

type SourceOf = (setting: string) => Source

export function* wrongAttributeRules(
  { attributes: { rules } }: Config,
  faultOf: FaultOf,
  { namespace }: Pick<ProfileVariables, 'namespace'>,
): Generator<ConfigFault> {
  const vendor = labelOf(namespace)
  // As a Prometheus label, so that no two names are one label.
  const names = new Map<string, string>()
  const variables = new Set<string>()
  for (const [index, rule] of rules.entries()) {
    const fault: FaultOf = (key, what, remedy) => faultOf(`attributes.rules[${index}].${key}`, what, remedy)
    const [hadNames, hadVariables] = [names.size, variables.size]
    for (const variable of variablesOf(rule)) variables.add(variable)
    const twins = namesOf(rule).filter(name => {
      const label = labelOf(name)
      const known = names.get(label) ?? name
      names.set(label, known)
      return known !== name
    })
    if (rule.metrics && isOfJobs(rule)) {
      const what = 'A rule for jobs cannot set attributes of metrics, whose points are about whole pipelines.'
      yield fault('metrics', what, 'Remove metrics, or remove jobs.')
    }
    for (const name of namesOf(rule).filter(one => labelOf(one).startsWith(vendor))) {
      const { what, remedy } = reservedName(name, namespace)
      yield fault('set', what, remedy)
    }
    for (const name of twins) {
      const what = `${name} and ${names.get(labelOf(name)) ?? ''} are the same label in Prometheus.`
      yield fault('set', what, 'Use one of the two everywhere.')
    }
    if (hadNames <= maxCustomAttributes && names.size > maxCustomAttributes)
      yield fault('set', `The rules set more than ${maxCustomAttributes} different attributes.`, removal)
    if (hadVariables <= maxVariables && variables.size > maxVariables)
      yield fault('set', `The rules read more than ${maxVariables} different variables.`, removal)
  }
}

function labelOf(name: string): string {
  return name.replaceAll('.', '_')
}

/** Warnings about rules that can never match, or whose attributes are always overridden. */
export function idleAttributeRules(config: Config, sourceOf: SourceOf): string[] {
  const { attributes, projects, sources: selected } = config
  return attributes.rules.flatMap((rule, index) => {
    const path = `attributes.rules[${index}]`
    const why =
      whyNever('project', rule.projects, projects) ??
      whyNever('source', rule.sources, { exclude: selected.exclude }) ??
      whyNever('job', rule.jobs, {}) ??
      whyOverridden(rule, index, attributes.rules)
    return why === undefined ? [] : [`${describeSource(sourceOf(`${path}.set`))}: ${path}: ${why}`]
  })
}

function whyNever(what: 'project' | 'source' | 'job', own: Choice, selected: Choice): string | undefined {
  const remedy = 'Correct its patterns, or remove the rule.'
  const { include = [], exclude = [] } = own
  const wanted = include.length === 0 && exclude.length > 0 ? ['**'] : include
  if (wanted.length === 0) return undefined
  if (wanted.every(pattern => isCovered(pattern, exclude))) {
    return `The rule can never match: its own ${what}s.exclude excludes every ${what} that it includes. ${remedy}`
  }
  const { include: others = [], exclude: refused = [] } = selected
  if (wanted.every(pattern => isCovered(pattern, [...exclude, ...refused]))) {
    return `The rule can never match: ${what}s.exclude excludes every ${what} that it includes. ${remedy}`
  }
  if (others.length === 0 || wanted.some(pattern => others.some(other => !areDisjoint(pattern, other))))
    return undefined
  return `The rule can never match: ${what}s.include contains no ${what} that it includes. ${remedy}`
}

/** A rule after it that matches everything sets the same names to literals; a label may be missing. */
function whyOverridden(rule: Rule, index: number, rules: readonly Rule[]): string | undefined {
  const names = namesOf(rule)
  const later = rules.findIndex(
    (other, at) =>
      at > index &&
      isForAll(other) &&
      (other.metrics || !rule.metrics) &&
      names.every(name => typeof other.set[name] === 'string'),
  )
  if (later === -1 || names.length === 0) return undefined
  return `The rule has no effect: attributes.rules[${later}] after it sets the same attributes of every pipeline. Move it after that rule, or remove it.`
}

/** A warning if the pages are to be grouped by an attribute that has no literal value for a project. */
export function unknownGrouping({ pages: { groupBy }, attributes }: Config, sourceOf: SourceOf): string[] {
  const isLiteral = (rule: Rule): boolean =>
    groupBy !== undefined && typeof rule.set[groupBy] === 'string' && !isOfJobs(rule) && !isChosen(rule.sources)
  if (groupBy === undefined || attributes.rules.some(isLiteral)) return []
  const source = describeSource(sourceOf('pages.group_by'))
  const what = `No rule sets ${groupBy} to a literal value for whole projects, so nothing is grouped by it.`
  return [`${source}: pages.group_by: ${what} Add such a rule to attributes.rules, or remove the setting.`]
}

function namesOf({ set }: Rule): string[] {
  return Object.keys(set)
}

function variablesOf({ set }: Rule): string[] {
  return Object.values(set).flatMap(source =>
    typeof source === 'object' && 'variable' in source ? [source.variable] : [],
  )
}

function isForAll({ projects, branches, sources, jobs }: Rule): boolean {
  return branches === undefined && [projects, sources, jobs].every(choice => !isChosen(choice))
}

function isOfJobs({ jobs }: Rule): boolean {
  return isChosen(jobs)
}

function isChosen({ include = [], exclude = [] }: Choice): boolean {
  return include.length + exclude.length > 0
}

/** Characters that make a glob more than `*` and `**`. */
const complex = /[?[\]{}()!+@\\|]/

/** Texts that a pattern matches, with words that no other pattern has by chance. A complex pattern has none. */
function witnesses(pattern: string): string[] {
  if (complex.test(pattern)) return []
  return ['q7', 'zz-x-zz', 'k0.wv'].map((word, depth) =>
    pattern.replaceAll('**', `${word}/`.repeat(depth) + word).replaceAll('*', word),
  )
}

/** Whether these patterns match everything that this one matches, as far as that can be decided. */
function isCovered(pattern: string, by: readonly string[]): boolean {
  if (by.length === 0) return false
  const matches = globs(by)
  const texts = witnesses(pattern)
  return texts.length > 0
    ? texts.every(text => matches(text))
    : by.some(other => other.toLowerCase() === pattern.toLowerCase())
}

/** Whether no text matches both: they begin differently, or one is a text that the other does not match. */
function areDisjoint(one: string, other: string): boolean {
  const [a, b] = [literalStart(one).toLowerCase(), literalStart(other).toLowerCase()]
  const length = Math.min(a.length, b.length)
  if (a.slice(0, length) !== b.slice(0, length)) return true
  if (a === one.toLowerCase()) return !globs([other])(one)
  return b === other.toLowerCase() && !globs([one])(other)
}

function literalStart(pattern: string): string {
  return /^[^*?[\]{}()!+@\\|]*/.exec(pattern)?.[0] ?? ''
}
