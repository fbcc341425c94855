// Checks of the rules for custom attributes (`attributes.rules`), together with the settings that refer to these attributes.
import { describeSource, type ConfigFault, type FaultOf, type Source } from './config-fault.ts'
import { maxCustomAttributes, maxVariables, reservedName } from './attribute-rule-options.ts'
import type { Config } from './options.ts'
import type { ProfileVariables } from './option.ts'

type Rule = Config['attributes']['rules'][number]

interface Choice {
  readonly include?: readonly string[] | undefined
  readonly exclude?: readonly string[] | undefined
}

/**
 * Yields the faults in rules for custom attributes that checks of a single setting cannot find: reserved or duplicate names, and too many attributes
 * or variables.
 */
export function* wrongAttributeRules(
  { attributes: { rules } }: Config,
  faultOf: FaultOf,
  { namespace }: Pick<ProfileVariables, 'namespace'>,
): Generator<ConfigFault> {
  const vendor = labelOf(namespace)
  // Attribute names are compared in their Prometheus label form, so that no two names map to the same label.
  const names = new Map<string, string>()
  const variables = new Set<string>()
  for (const [index, rule] of rules.entries()) {
    const fault: FaultOf = (key, what, remedy) => faultOf(`attributes.rules[${index}].${key}`, what, remedy)
    const [hadNames, hadVariables] = [names.size, variables.size]
    for (const variable of variablesRead(rule)) variables.add(variable)
    const twins = namesOf(rule).filter(name => {
      const label = labelOf(name)
      const known = names.get(label) ?? name
      names.set(label, known)
      return known !== name
    })
    if (rule.metrics && isOfJobs(rule)) {
      const what = 'A rule for jobs cannot set metric attributes, which describe whole pipelines.'
      yield fault('metrics', what, 'Remove metrics or jobs from the rule.')
    }
    for (const name of namesOf(rule).filter(one => labelOf(one).startsWith(vendor))) {
      const { what, remedy } = reservedName(name, namespace)
      yield fault('set', what, remedy)
    }
    for (const name of twins) {
      const what = `${name} and ${names.get(labelOf(name)) ?? ''} are the same label in Prometheus.`
      yield fault('set', what, 'Use one of the two names everywhere.')
    }
    if (hadNames <= maxCustomAttributes && names.size > maxCustomAttributes)
      yield fault(
        'set',
        `The rules set more than ${maxCustomAttributes} different attributes.`,
        'Remove attributes that you do not need.',
      )
    if (hadVariables <= maxVariables && variables.size > maxVariables)
      yield fault(
        'set',
        `The rules read more than ${maxVariables} different variables.`,
        'Remove variables that you do not need.',
      )
  }
}

function labelOf(name: string): string {
  return name.replaceAll('.', '_')
}

/** Warns if pages are grouped by an attribute that has no literal value for any project. */
export function unknownGrouping(
  { pages: { groupBy }, attributes }: Config,
  sourceOf: (setting: string) => Source,
): string[] {
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

function variablesRead({ set }: Rule): string[] {
  return Object.values(set).flatMap(source =>
    typeof source === 'object' && 'variable' in source ? [source.variable] : [],
  )
}

function isOfJobs({ jobs }: Rule): boolean {
  return isChosen(jobs)
}

function isChosen({ include = [], exclude = [] }: Choice): boolean {
  return include.length + exclude.length > 0
}
