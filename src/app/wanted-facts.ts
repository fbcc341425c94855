// What the configured rules for attributes want of pipelines and merge requests.
import { createTextRedaction } from '../platform/text-redaction.ts'
import { createWantedFacts, type WantedFacts } from '../platform/wanted-facts.ts'
import type { Config } from '../config/options.ts'

/** Undefined if the rules only set literal values. */
export function wantedFactsOf({ attributes, redact }: Pick<Config, 'attributes' | 'redact'>): WantedFacts | undefined {
  return createWantedFacts({ labels: wantedLabels({ attributes }) }, createTextRedaction(redact ?? []))
}

/** The prefixes of labels. */
export function wantedLabels({ attributes }: Pick<Config, 'attributes'>): string[] {
  return attributes.rules.flatMap(({ set }) =>
    Object.values(set).flatMap(value => (typeof value === 'object' ? [value.label] : [])),
  )
}
