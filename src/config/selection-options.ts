// The options of what is exported at all: of which projects, refs and sources, and which of their attributes.
import { integer } from './plain-kinds.ts'
import { patterns } from './list-kinds.ts'
import { setting } from './option.ts'

export const selectionOptions = {
  projects: {
    include: setting(patterns, {
      variable: 'PIPESPAN_PROJECTS_INCLUDE',
      unset: 'all',
      says: 'Projects whose pipelines are exported: patterns of their full paths.',
      example: 'team/*,shop/**',
    }),
    exclude: setting(patterns, {
      variable: 'PIPESPAN_PROJECTS_EXCLUDE',
      says: 'Projects left out; stronger than `include`.',
    }),
  },
  refs: {
    include: setting(patterns, {
      variable: 'PIPESPAN_REFS_INCLUDE',
      unset: 'all',
      says: 'Branches and tags whose pipelines are exported.',
      example: 'main,release/*',
    }),
    exclude: setting(patterns, {
      variable: 'PIPESPAN_REFS_EXCLUDE',
      says: 'Branches and tags left out; stronger than `include`.',
    }),
  },
  sources: {
    exclude: setting(patterns, {
      variable: 'PIPESPAN_SOURCES_EXCLUDE',
      says: 'Pipelines left out by what started them.',
      example: 'schedule,external',
    }),
  },
  attributes: {
    drop: setting(patterns, {
      variable: 'PIPESPAN_ATTRIBUTES_DROP',
      says: 'Attributes left out of every signal: names or patterns.',
      example: 'pipeline.user.*',
    }),
    hash: setting(patterns, {
      variable: 'PIPESPAN_ATTRIBUTES_HASH',
      says: 'Attributes whose values are replaced by a hash in every signal: names or patterns.',
      example: '*.commit.message',
    }),
    valueLengthLimit: setting(integer({ min: 1, max: 1_000_000 }), {
      variable: 'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
      default: '4096',
      says: 'Longest text of an attribute in every signal, UTF-16 units; the rest is cut off.',
    }),
  },
}
