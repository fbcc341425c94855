// The options that choose by patterns: what to include, without what to exclude.
import { patterns } from './list-kinds.ts'
import { projectPatterns } from './project-kinds.ts'
import { setting } from './option.ts'

/** `what`: the texts that the patterns are for. `note`: a sentence after that, with a space before it. */
export function choiceOf(what: string, note = '') {
  return {
    include: setting(patterns, { unset: 'all' }).describe(`Patterns of ${what}.${note}`),
    exclude: setting(patterns).describe(`Patterns of ${what} to exclude; overrides \`include\`.${note}`),
  }
}

/** The same of projects. `protects`: it separates what some may see from what others may; fewer that are included are seen by nobody else. */
export function projectChoice(note = '', { protects }: { readonly protects?: true } = {}) {
  const what = 'full project paths'
  return {
    include: setting(projectPatterns, { unset: 'all', ...(protects && { protects }) }).describe(
      `Patterns of ${what}.${note}`,
    ),
    exclude: setting(projectPatterns, { ...(protects && { protects: 'each' as const }) }).describe(
      `Patterns of ${what} to exclude; overrides \`include\`.${note}`,
    ),
  }
}
