// The options that select what is exported: projects, refs, sources, attributes, and webhook events that do not belong to a pipeline.
import { integer, boolean } from './plain-kinds.ts'
import { patterns, allNoneOr, regularExpressions } from './list-kinds.ts'
import { projectPatterns } from './project-kinds.ts'
import { setting, type Profiles } from './option.ts'
import { attributeRules } from './attribute-rule-options.ts'

export const selectionOptions = {
  projects: {
    include: setting(projectPatterns, { protects: true, unset: 'all', example: 'team/*,shop/**' }).describe(
      'Projects to export: patterns of full paths.',
    ),
    exclude: setting(projectPatterns, { protects: 'each' }).describe('Projects to exclude; overrides `include`.'),
  },
  refs: {
    include: setting(patterns, { unset: 'all', example: 'main,release/*' }).describe('Branches and tags to export.'),
    exclude: setting(patterns).describe('Branches and tags to exclude; overrides `include`.'),
  },
  sources: {
    exclude: setting(patterns, { example: 'schedule,external' }).describe('Pipeline sources to exclude.'),
  },
  attributes: {
    drop: setting(patterns, { protects: 'each', example: 'pipeline.user.*' }).describe(
      'Attributes to drop from every signal: names or patterns.',
    ),
    hash: setting(patterns, { protects: 'each', example: '*.commit.message' }).describe(
      'Attributes to hash in every signal: names or patterns.',
    ),
    valueLengthLimit: setting(integer({ min: 1, max: 1_000_000 }), {
      variable: 'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
      default: '4096',
    }).describe(
      'Maximum length of string attributes in every signal, in UTF-16 code units; longer strings are truncated.',
    ),
    rules: attributeRules,
  },
}

/** Creates the event options. `own` are the names that select events created by features. */
export function eventOptions(profiles: Profiles, own: readonly string[]) {
  const names = [...new Set([...Object.values(profiles).flatMap(({ events }) => events), ...own])]
  return {
    events: setting(allNoneOr(names, 'event'), {
      default: 'deployment,change,release,feature_flag,access_token,operator',
      example: 'deployment,change,push',
    }).describe(
      `Events other than those of pipelines and jobs that become log records: ${names.map(name => `\`${name}\``).join(', ')}. See docs/EVENTS.md. Other webhooks are acknowledged and counted. No requests, except for \`issue\`: if the API is configured, 1 every PIPESPAN_POLL_INTERVAL for incidents that have changed.`,
    ),
    eventsNameAttribute: setting(boolean, { default: 'false' }).describe(
      "Also write an event's name to the attribute `event.name`, for backends that ignore the log record's event name field.",
    ),
  }
}

// The option for the patterns whose matches are redacted in all text from external sources.
export const redact = setting(regularExpressions, { protects: 'each', example: 'ACME-[0-9a-f]{32}' }).describe(
  'Regular expressions to redact in job logs, reports, events and the inventory, in addition to known secret formats, without backreferences and look-around. A comma within brackets or after a backslash is part of the expression.',
)
