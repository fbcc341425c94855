// The options of what is exported: projects, refs, sources, attributes.
import { integer } from './plain-kinds.ts'
import { patterns } from './list-kinds.ts'
import { projectPatterns } from './project-kinds.ts'
import { setting } from './option.ts'
import { attributeRules } from './attribute-rule-options.ts'

export const selectionOptions = {
  projects: {
    include: setting(projectPatterns, {
      variable: 'PIPESPAN_PROJECTS_INCLUDE',
      protects: true,
      unset: 'all',
      description: 'Projects to export: patterns of full paths.',
      example: 'team/*,shop/**',
    }),
    exclude: setting(projectPatterns, {
      variable: 'PIPESPAN_PROJECTS_EXCLUDE',
      protects: 'each',
      description: 'Projects to exclude; overrides `include`.',
    }),
  },
  refs: {
    include: setting(patterns, {
      variable: 'PIPESPAN_REFS_INCLUDE',
      unset: 'all',
      description: 'Branches and tags to export.',
      example: 'main,release/*',
    }),
    exclude: setting(patterns, {
      variable: 'PIPESPAN_REFS_EXCLUDE',
      description: 'Branches and tags to exclude; overrides `include`.',
    }),
  },
  sources: {
    exclude: setting(patterns, {
      variable: 'PIPESPAN_SOURCES_EXCLUDE',
      description: 'Pipeline sources to exclude.',
      example: 'schedule,external',
    }),
  },
  attributes: {
    drop: setting(patterns, {
      variable: 'PIPESPAN_ATTRIBUTES_DROP',
      protects: 'each',
      description: 'Attributes to drop from every signal: names or patterns.',
      example: 'pipeline.user.*',
    }),
    hash: setting(patterns, {
      variable: 'PIPESPAN_ATTRIBUTES_HASH',
      protects: 'each',
      description: 'Attributes to hash in every signal: names or patterns.',
      example: '*.commit.message',
    }),
    valueLengthLimit: setting(integer({ min: 1, max: 1_000_000 }), {
      variable: 'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
      default: '4096',
      description:
        'Maximum length of an attribute text in every signal, in UTF-16 code units; longer texts are truncated.',
    }),
    rules: attributeRules,
  },
}
