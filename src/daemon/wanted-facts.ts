// What the configured rules for attributes want of pipelines and merge requests.
import { createTextRedaction } from '../lib/text-redaction.ts'
import { createWantedFacts, type WantedFacts, type WantedNames } from '../platform/wanted-facts.ts'
import type { Config } from './configuration/options.ts'

/** Undefined if the rules only set literal values. */
export function wantedFactsOf(config: Pick<Config, 'attributes' | 'redact'>): WantedFacts | undefined {
  return createWantedFacts(wantedNames(config), createTextRedaction(config.redact ?? []))
}

function wantedNames({ attributes }: Pick<Config, 'attributes'>): WantedNames {
  const sources = attributes.rules.flatMap(({ set }) => Object.values(set))
  return {
    labels: sources.flatMap(source => (typeof source === 'object' && 'label' in source ? [source.label] : [])),
    variables: sources.flatMap(source => (typeof source === 'object' && 'variable' in source ? [source.variable] : [])),
  }
}

/** Whether any labels or variables are wanted. */
export function wishesOf(config: Pick<Config, 'attributes'>): {
  readonly labels: boolean
  readonly variables: boolean
} {
  const { labels, variables } = wantedNames(config)
  return { labels: labels.length > 0, variables: variables.length > 0 }
}
