// Checks across the rules of the price table.
import type { ConfigFault, Source } from './config-fault.ts'
import type { Config } from './options.ts'

/** Rules that are never used, because a rule before them matches every job, and the first match wins. */
export function unreachableRules(
  { costs: { rules } }: Config,
  sources: ReadonlyMap<string, Source>,
  faulty: ReadonlySet<string>,
): ConfigFault[] {
  const first = rules.findIndex(({ match }, index) => {
    const keys = ['tags', 'type', 'project'] as const
    return keys.every(key => isEmpty(match[key]) && !faulty.has(`costs.rules[${index}].match.${key}`))
  })
  if (first === -1) return []
  return rules.slice(first + 1).map((_, after): ConfigFault => {
    const setting = `costs.rules[${first + 1 + after}].name`
    return {
      setting,
      source: sources.get(setting) ?? { from: 'default' },
      what: `This rule is never used: costs.rules[${first}] before it matches every job.`,
      remedy: `Move it before that rule, or add a match to that rule.`,
    }
  })
}

function isEmpty(value: string | readonly string[] | undefined): boolean {
  return value === undefined || value.length === 0
}
