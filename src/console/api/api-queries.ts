// The inputs of the JSON API: the parameters of each route and the request bodies of its actions.
import { z } from 'zod'
import { comparedNames } from '../pipelines/compared-with.ts'
import { spanNames } from '../layout/trend-spans.ts'
import { timelineItems } from '../timeline/timeline-part.ts'

/** Returns a route's `sort` parameter. It accepts the same values as the `sort` parameter in the page's address. */
export const sortBy = (...keys: readonly Readonly<Record<string, unknown>>[]) => {
  const names = [...new Set(keys.flatMap(Object.keys))]
  return z
    .enum(names.flatMap(name => [name, `-${name}`]))
    .optional()
    .describe(
      'Sorts the response by a column of the page; a leading `-` reverses the order. Does not change which items are listed.',
    )
}
export const wholeNumber = z.coerce.number('Write a whole number').int().positive()
export const projectId = z.coerce
  .number('Write the ID of a project; the path of a group belongs in `group`')
  .int()
  .positive()
  .optional()
  .describe('ID of a project.')
export const group = z
  .string()
  .regex(/\/$/, 'Add a slash to the end of the group’s path')
  .optional()
  .describe('Path of a group, ending with a slash.')
export const atMost = (max: number) => z.coerce.number('Write a whole number').int().min(1).max(max)
/** Returns the `next` parameter of a paginated route. Its value is a cursor that must match `pattern`. */
export const nextPage = (pattern: RegExp) =>
  z
    .string()
    .regex(pattern, 'Pass the value of `next` from the previous page')
    .optional()
    .describe('The value of `next` from the previous page.')
export const text = (description: string) => z.string().optional().describe(description)
export const scope = text('Full path of a project, or of a group if it ends with a slash.')
export const ownValue = text(
  'Limits the response to projects for which the attribute named by PIPESPAN_PAGES_GROUP_BY has this value.',
)
export const overviewQuery = z.object({
  limit: atMost(100)
    .optional()
    .describe('Maximum number of running pipelines, and of finished ones. Default: as many as the page shows.'),
})
export const instanceQuery = z.object({
  instance: text('Base URL of the platform; needed if several platforms have a project with this ID.'),
})
export const compareQuery = instanceQuery.extend({
  with: z
    .union([z.enum(comparedNames), wholeNumber])
    .default('before')
    .describe(
      'What to compare with: the previous pipeline of the same branch or tag, the last pipeline before it that passed, the usual durations, or the ID of a pipeline of the project.',
    ),
})
const ownScope = z.string().min(1).optional().describe('Full path of a project, or of a group if it ends with a slash.')
export const scopedQuery = z.object({
  span: z.enum(spanNames).default('30d'),
  project: ownScope,
  own: ownValue,
  limit: atMost(200).default(50),
})
/** `kinds` contains the kinds of events and the kinds of timeline items that features add. */
export const timelineQuery = (kinds: readonly string[]) =>
  z.object({
    span: z.enum(spanNames).default('7d'),
    project: ownScope,
    own: ownValue,
    kind: z
      .union([z.enum(kinds), z.array(z.enum(kinds))])
      .optional()
      .describe('Kind of items; may be repeated. Default: all kinds.'),
    limit: atMost(200).default(100),
    pipelines: z.coerce.number().int().min(0).max(100).default(100).describe('Maximum number of pipelines to return.'),
    sort: sortBy(timelineItems.keys),
  })
export const tried = z.object({
  destination: z.string().optional().describe('Name of a destination; absent for all destinations.'),
})
export const chosen = z.object({ ids: z.union([z.array(z.number().int().positive()).min(1), z.literal('all')]) })
